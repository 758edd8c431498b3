//! What packs, what does not, and that nothing is lost.

use super::*;

/// Every finite bf16 as f32, with its neighbour.
fn every_finite_bf16() -> Vec<f32> {
    let all = (0..=u16::MAX).map(|bits| f32::from_bits(u32::from(bits) << 16));
    all.filter(|w| w.is_finite()).collect()
}

#[test]
fn every_finite_bf16_survives_the_round_trip() {
    let weights = every_finite_bf16();
    let Packing::Packed(words) = pack(&weights).unwrap() else { panic!("not packed") };
    assert_eq!(words.len() * 2, weights.len());
    assert!(unpack(&words).zip(&weights).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_eq!(words[0] & 0xffff, weights[0].to_bits() >> 16, "the first is in the low half");
}

#[test]
fn what_cannot_be_rebuilt_stays_unpacked() {
    let kept = |weights: &[f32]| match pack(weights).unwrap() {
        Packing::Unpacked(reason) => reason,
        Packing::Packed(_) => panic!("packed"),
    };
    assert_eq!(kept(&[1.0, 2.0, 3.0]), Ineligible::Odd { count: 3 });
    assert_eq!(kept(&[1.0, f32::NAN]), Ineligible::NotFinite { at: 1 });
    assert_eq!(kept(&[f32::NEG_INFINITY, 1.0]), Ineligible::NotFinite { at: 0 });
    let bits = 1.0f32.to_bits() + 1;
    assert_eq!(kept(&[1.0, 1.0, f32::from_bits(bits), 1.0]), Ineligible::LowBits { at: 2, bits });
}

#[test]
fn a_damaged_copy_is_found_at_every_bit() {
    let weights = [1.0, -2.5, 0.0, -0.0];
    let Packing::Packed(words) = pack(&weights).unwrap() else { panic!("not packed") };
    for bit in 0..64 {
        let mut damaged = words.clone();
        damaged[bit / 32] ^= 1 << (bit % 32);
        let bytes: Vec<u8> = damaged.iter().flat_map(|word| word.to_le_bytes()).collect();
        for found in [verify(&weights, &damaged), verify_bytes(&weights, &bytes)] {
            assert_eq!(found, Err(RoundTripMismatch { at: bit / 16 }));
        }
    }
    assert_eq!(verify(&weights, &words[..1]), Err(RoundTripMismatch { at: 2 }));
    assert_eq!(verify_bytes(&weights, &[0x80, 0x3f, 0x20, 0xc0]), Err(RoundTripMismatch { at: 2 }));
}
