//! Downloads of models: the only crate that reaches the network on its own account.
//!
//! [`pull`] asks a hub for the files of a repository, takes those that make a checkpoint (or the one that is named) and puts
//! them into the cache that programs of Hugging Face share, where [`find_model`](tilewright_model::find_model) finds them.
//! A file is downloaded beside its place, a cut one goes on where it stopped, and it gets its name only when it is whole and
//! its checksum is the one the hub states. The revision is named last, and has every file that the one named before had and
//! that is still there, so that what is found is complete.
//!
//! `hf-hub` knows the cache: the names of its folders, the token kept there, the revision. Its downloads are not used: they
//! rename before anybody can compare a checksum, append whatever a server sends to a part, and take a path from it.

mod checksum;
mod client;
mod environment;
mod judge;
mod listing;
mod store;
mod transfer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use tilewright_model::{Code, HubName, Refusal, SHARD_INDEX, shards_of_index};

use self::client::Client;
use self::listing::Listing;
use self::store::Store;

/// A hub, and where its files are kept.
#[derive(Clone)]
pub struct Hub {
    /// Where it answers: `https://huggingface.co`, a mirror, or `http://HOST:PORT`.
    pub endpoint: String,
    /// Sent to that address and to no other.
    pub token: Option<String>,
    /// The folder of the shared cache.
    pub cache: PathBuf,
    /// The wait before something is asked again for the first time; later ones are longer. A hub may state another.
    pub pause: Duration,
}

/// What is in the cache now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The folder of the checkpoint, or the GGUF file; of a split one its first part.
    pub path: PathBuf,
    /// The commit it belongs to.
    pub revision: String,
    /// Every file that was asked for.
    pub files: Vec<PulledFile>,
}

/// One file in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledFile {
    /// Its name in the repository.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// How many bytes of it came over the network this time; none when it was there.
    pub received: u64,
}

/// Downloads what `name` means. `progress` hears a file's name, the bytes there are and the bytes in all.
///
/// # Errors
/// [`Code::HubEndpointInvalid`], [`Code::HubRepositoryNotFound`], [`Code::HubFileNotFound`], [`Code::HubFileUnclear`],
/// [`Code::HubTokenNeeded`], [`Code::HubChecksumDiffers`], [`Code::HubConnectionLost`], [`Code::HubRefused`], [`Code::HubFileBusy`];
/// [`Code::FileUnwritable`], also when the disk is full; [`Code::IndexInvalid`] for the index of a sharded checkpoint.
pub fn pull(hub: &Hub, name: &HubName, progress: &mut dyn FnMut(&str, u64, u64)) -> Result<Pulled, Refusal> {
    let client = Client::new(hub)?;
    let listing = Listing::of(&client, &name.repository)?;
    let mut wanted = listing.choose(name.file.as_deref())?;
    let store = Store::new(&hub.cache, &name.repository, &listing.revision)?;
    let before = store.names_before()?.into_iter().filter(|file| listing.has(file));
    let model = wanted.first().filter(|file| listing::is_gguf(file)).cloned();
    wanted.extend(before.filter(|file| !wanted.contains(file)).collect::<Vec<_>>());
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(file) = wanted.get(at).cloned() {
        files.push(transfer::fetch(&client, &store, &file, progress)?);
        if file == SHARD_INDEX {
            let shards = shards(&listing, &store)?.into_iter();
            wanted.extend(shards.filter(|shard| !wanted.contains(shard)).collect::<Vec<_>>());
        }
        at += 1;
    }
    store.name_revision()?;
    let path = model.map_or_else(|| store.snapshot(), |file| store.file(&file));
    Ok(Pulled { path, revision: listing.revision, files })
}

/// The shards that the downloaded index names.
fn shards(listing: &Listing, store: &Store) -> Result<Vec<String>, Refusal> {
    let path = store.file(SHARD_INDEX);
    let text = std::fs::read(&path)
        .map_err(|e| Refusal::new(Code::FileUnreadable, "file", "readable", e).at(path.display()))?;
    let shards: Vec<String> =
        shards_of_index(&text).map_err(|refusal| refusal.at(path.display()))?.into_iter().collect();
    listing.require(&shards)?;
    Ok(shards)
}
