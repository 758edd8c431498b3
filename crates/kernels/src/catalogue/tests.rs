//! The catalogue at every sample shape.

use std::collections::BTreeSet;

use super::*;
use crate::shape::SAMPLES;
use tilewright_tile::verify;

#[test]
fn names_are_told_once_and_are_the_kernels_own() {
    let mut seen = BTreeSet::new();
    for entry in entries() {
        assert!(entry.summary.ends_with('.'), "{}", entry.name);
        for variant in entry.variants {
            assert!(seen.insert(entry.full_name(variant)), "{} twice", entry.full_name(variant));
        }
        for (name, kernel) in entry.kernels(&Shape::QWEN3_TINY) {
            assert_eq!(kernel.name(), name);
        }
    }
    for pipeline in pipelines() {
        assert!(seen.insert(pipeline.name.to_owned()), "{} twice", pipeline.name);
    }
}

#[test]
fn every_kernel_is_accepted_at_every_sample_shape() {
    for sample in SAMPLES {
        for (name, kernel) in entries().flat_map(|entry| entry.kernels(&sample.shape)) {
            if let Err(rejection) = verify(kernel) {
                panic!("{name} at {}: {rejection}", sample.name);
            }
        }
    }
}

#[test]
fn every_pipeline_is_accepted_at_every_sample_shape() {
    for sample in SAMPLES {
        for entry in pipelines().filter(|entry| (entry.fits)(&sample.shape)) {
            let pipeline = (entry.build)(&sample.shape).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
            assert_eq!(pipeline.name(), entry.name);
            pipeline.verify().unwrap_or_else(|e| panic!("{} at {}: {e}", entry.name, sample.name));
        }
    }
}
