//! The files of a repository, and which of them are wanted.

use serde::Deserialize;
use tilewright_model::{Code, Finding, HubName, Refusal, SHARD_INDEX, are_parts_of_one};

use crate::client::{Client, is_plain};

/// What makes weights in safetensors a checkpoint.
const CONFIG: &str = "config.json";
/// Everything but weights that is read of a published checkpoint, where there is such a file.
const TEXTS: [&str; 6] = [
    CONFIG,
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "chat_template.json",
];
/// The weights of a published checkpoint that is not sharded.
const WEIGHTS: &str = "model.safetensors";
/// The files of the converted form.
const PAIR: [&str; 2] = ["manifest.json", "weights.blob"];

/// What a hub says of a repository.
#[derive(Debug)]
pub(crate) struct Listing {
    repository: String,
    /// The commit.
    pub(crate) revision: String,
    /// Names of files, with their folders.
    files: Vec<String>,
}

#[derive(Deserialize)]
struct Stated {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Listing {
    /// Asks for the newest revision.
    pub(crate) fn of(client: &Client, repository: &str) -> Result<Self, Refusal> {
        let url = client.url(&format!("api/models/{repository}/revision/main"));
        let text = client.text(&url)?;
        let stated: Stated = serde_json::from_slice(&text).map_err(|error| {
            Refusal::new(Code::HubEndpointInvalid, "answer", "a list of files", error).at(&url)
        })?;
        if !is_plain(&stated.sha) {
            let got = format!("{:?}", stated.sha);
            return Err(
                Refusal::new(Code::HubEndpointInvalid, "revision", "letters and digits", got).at(&url)
            );
        }
        // What is named otherwise could lead out of the folder, and is no file of a checkpoint.
        let files = stated.siblings.into_iter().map(|file| file.rfilename);
        let mut files: Vec<String> = files.filter(|name| HubName::is_file_name(name)).collect();
        files.sort();
        Ok(Self { repository: repository.to_owned(), revision: stated.sha, files })
    }

    /// The files to download: of a published checkpoint, small ones first, without the shards that an index names; else one
    /// GGUF model with all its parts; or `file` with its other parts.
    pub(crate) fn choose(&self, file: Option<&str>) -> Result<Vec<String>, Refusal> {
        if let Some(file) = file {
            self.require(&[file.to_owned()])?;
            return Ok(self.parts(file));
        }
        let texts = || TEXTS.into_iter().filter(|name| self.has(name));
        let of =
            |weights: &[&'static str]| texts().chain(weights.iter().copied()).map(str::to_owned).collect();
        let published = [SHARD_INDEX, WEIGHTS].into_iter().find(|name| self.has(name));
        if let Some(weights) = published.filter(|_| self.has(CONFIG)) {
            return Ok(of(&[weights]));
        }
        let models = self.models();
        match models[..] {
            [] if PAIR.iter().all(|name| self.has(name)) => Ok(of(&PAIR)),
            [] => {
                let expected = format!("{CONFIG} with {WEIGHTS} or {SHARD_INDEX}, or a GGUF file");
                let got = match published {
                    Some(weights) => format!("{weights} without {CONFIG}"),
                    None => "neither".to_owned(),
                };
                let remedy = "Choose a repository that holds a whole model: a part of one, such as an adapter, is not read.";
                Err(self.refuse(Code::HubFileNotFound, &expected, &got).with_remedy(remedy))
            }
            [model] => Ok(self.parts(model)),
            _ => Err(self.refuse(Code::HubFileUnclear, "one GGUF model", &models.join(", "))),
        }
    }

    /// Refuses names that the repository does not have.
    pub(crate) fn require(&self, names: &[String]) -> Result<(), Refusal> {
        if names.iter().all(|name| self.has(name)) {
            return Ok(());
        }
        let models = match self.models() {
            models if models.is_empty() => "none".to_owned(),
            models => format!("none; there are {}", models.join(", ")),
        };
        let absent = names.iter().filter(|name| !self.has(name));
        let findings = absent.map(|name| Finding::new(name, "a file of the repository", &models)).collect();
        Refusal::check(Code::HubFileNotFound, findings).map_err(|refusal| refusal.at(&self.repository))
    }

    /// Whether the repository has a file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file == name)
    }

    /// Every GGUF model by its first part.
    fn models(&self) -> Vec<&str> {
        let mut models: Vec<&str> = Vec::new();
        for file in self.files.iter().filter(|file| is_gguf(file)) {
            if !models.iter().any(|known| are_parts_of_one(known, file)) {
                models.push(file);
            }
        }
        models
    }

    /// A file with the others of its split model, in order.
    fn parts(&self, file: &str) -> Vec<String> {
        self.files.iter().filter(|other| are_parts_of_one(file, other)).cloned().collect()
    }

    fn refuse(&self, code: Code, expected: &str, got: &str) -> Refusal {
        Refusal::new(code, "repository", expected, got).at(&self.repository)
    }
}

/// Whether a file is one by its name.
pub(crate) fn is_gguf(name: &str) -> bool {
    name.ends_with(".gguf")
}
