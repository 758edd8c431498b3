//! Everything that can be known of a folder without reading weights, each part as far as it could be read.
//!
//! Opening takes the survey's first refusal as its error; inspecting shows them all.

use super::folder::{Folder, FolderFile};
use super::texts::Texts;
use super::weights::Weights;
use super::{CONFIG, layout, pair, shards};
use crate::gguf;
use crate::manifest::{BLOB, MANIFEST};
use crate::{Code, Config, Finding, GenerationConfig, Parameters, Refusal, StopSet, stop};

/// The file of the generation settings.
pub(crate) const GENERATION_CONFIG: &str = "generation_config.json";

/// What was found, and every refusal on the way.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) files: Vec<FolderFile>,
    pub(crate) config: Option<Config>,
    pub(crate) config_text: Option<Vec<u8>>,
    pub(crate) weights: Option<Weights>,
    /// Index of each parameter in `weights`, and of a head that is stored although it is tied.
    pub(crate) placed: Option<(Parameters<usize>, Option<usize>)>,
    pub(crate) texts: Texts,
    pub(crate) generation: GenerationConfig,
    pub(crate) generation_text: Option<Vec<u8>>,
    pub(crate) stops: StopSet,
    /// The prompt of the converted form.
    pub(crate) prompt_ids: Option<Vec<u32>>,
    pub(crate) refusals: Vec<Refusal>,
}

impl Survey {
    /// Looks at everything in `folder`.
    pub(crate) fn of(folder: &Folder) -> Self {
        let mut this = Self::default();
        this.files = this.keep(folder.files()).unwrap_or_default();
        let is_gguf = this.is_gguf();
        if is_gguf {
            this.read_gguf(folder);
        } else if this.has(CONFIG) || !this.has(MANIFEST) {
            this.read_directory(folder);
        } else {
            this.read_pair(folder);
        }
        if let (Some(config), Some(weights)) = (&this.config, &this.weights) {
            let placed = layout::place(config, &weights.entries).map_err(|r| r.at(folder.place("")));
            this.placed = this.keep(placed);
        }
        if !is_gguf {
            this.texts = Texts::read(folder, &mut this.refusals);
            this.read_generation(folder);
        }
        this.read_stops(folder);
        this
    }

    /// Whether the weights are GGUF, and in no other form that is read.
    fn is_gguf(&self) -> bool {
        let any = |what: fn(&str) -> bool| self.files.iter().any(|file| what(&file.name));
        any(gguf::open::is_gguf) && !any(|name| name.ends_with(".safetensors")) && !self.has(MANIFEST)
    }

    fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }

    /// The value, or its refusal kept for the list.
    fn keep<T>(&mut self, result: Result<T, Refusal>) -> Option<T> {
        result.map_err(|refusal| self.refusals.push(refusal)).ok()
    }

    /// The form that is published: `config.json` and safetensors.
    fn read_directory(&mut self, folder: &Folder) {
        let text = folder.text(CONFIG).and_then(|text| {
            text.ok_or_else(|| {
                Refusal::new(Code::CheckpointNotFound, CONFIG, "a file", folder.absence(CONFIG))
                    .at(folder.place(""))
            })
        });
        if let Some(text) = self.keep(text) {
            let config = Config::from_json(&text).map_err(|r| r.at(folder.place(CONFIG)));
            self.config = self.keep(config);
            self.config_text = Some(text.into_owned());
        }
        if self.has(BLOB) {
            let finding =
                Finding::new(BLOB, "weights in one form only", "the converted form beside safetensors");
            self.refusals
                .push(Refusal::with_findings(Code::StrayWeights, vec![finding]).at(folder.place("")));
        }
        let weights = shards::open(folder, &self.files);
        self.weights = self.keep(weights);
    }

    /// The converted form.
    fn read_pair(&mut self, folder: &Folder) {
        let Some(manifest) = self.keep(pair::manifest(folder)) else { return };
        self.weights = self.keep(pair::weights(folder, &manifest));
        self.config = Some(manifest.config);
        self.prompt_ids = Some(manifest.input_ids);
    }

    /// A GGUF file, which holds everything.
    fn read_gguf(&mut self, folder: &Folder) {
        let Some(opened) = self.keep(gguf::open::open(folder, &self.files)) else { return };
        self.weights = Some(opened.weights);
        self.config = self.keep(opened.config);
        self.texts = self.keep(opened.texts).unwrap_or_default();
    }

    fn read_generation(&mut self, folder: &Folder) {
        let vocab = self.config.as_ref().map(|config| config.vocab);
        let place = folder.place(GENERATION_CONFIG);
        let mut stated = None;
        let read = folder.text(GENERATION_CONFIG).and_then(|text| match text {
            Some(text) => {
                let text = stated.insert(text.into_owned());
                GenerationConfig::read(text, vocab).map_err(|r| r.at(place))
            }
            None => Ok(GenerationConfig::default()),
        });
        self.generation = self.keep(read).unwrap_or_default();
        self.generation_text = stated;
    }

    fn read_stops(&mut self, folder: &Folder) {
        let Some(config) = &self.config else { return };
        let Texts { tokenizer_json, tokenizer_config, .. } = &self.texts;
        let stops =
            stop::stop_set(config, &self.generation, tokenizer_config.as_ref(), tokenizer_json.as_deref());
        let stops = stops
            .map_err(|r| if r.place().is_some() { r } else { r.at(folder.place("tokenizer_config.json")) });
        self.stops = self.keep(stops).unwrap_or_default();
    }
}
