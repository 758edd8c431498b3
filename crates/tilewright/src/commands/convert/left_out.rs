//! What a form has no place for.

use tilewright_model::GenerationConfig;

/// How the publisher means the model to be sampled, as flags of `run`: neither GGUF files nor converted pairs hold it. `None` where
/// nothing is said.
pub(super) fn sampling(generation: &GenerationConfig) -> Option<String> {
    let number = |flag: &str, value: Option<f64>| value.map(|value| format!("{flag} {value}"));
    let size = |flag: &str, value: Option<usize>| value.map(|value| format!("{flag} {value}"));
    let mut said = Vec::new();
    // Without sampling the others say nothing.
    if generation.do_sample != Some(false) {
        said.extend(number("--temp", generation.temperature));
        said.extend(size("--top-k", generation.top_k));
        said.extend(number("--top-p", generation.top_p));
        said.extend(number("--min-p", generation.min_p));
    }
    said.extend(number("--repeat-penalty", generation.repetition_penalty));
    (!said.is_empty()).then(|| said.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said_in_the_flags_that_give_it_back() {
        let full = GenerationConfig {
            temperature: Some(0.7),
            top_k: Some(40),
            top_p: Some(0.95),
            repetition_penalty: Some(1.1),
            ..GenerationConfig::default()
        };
        let flags = "--temp 0.7 --top-k 40 --top-p 0.95 --repeat-penalty 1.1";
        assert_eq!(sampling(&full).as_deref(), Some(flags));
        let greedy = GenerationConfig { do_sample: Some(false), ..full };
        assert_eq!(sampling(&greedy).as_deref(), Some("--repeat-penalty 1.1"));
        assert_eq!(sampling(&GenerationConfig::default()), None);
    }
}
