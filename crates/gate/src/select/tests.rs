//! The rule of the choice.

use super::*;

#[test]
fn the_least_median_chooses_and_the_smaller_chunk_of_equals() {
    assert_eq!(least(vec![(3.0, 128), (2.0, 256), (2.5, 512)]), Some(256));
    assert_eq!(least(vec![(2.0, 1024), (2.0, 256), (2.0, 512)]), Some(256));
    assert_eq!(least(Vec::new()), None);
}
