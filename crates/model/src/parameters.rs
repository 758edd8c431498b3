//! The tensors of a decoder, by role.

use crate::{Config, StoredType};

/// What a tensor is for. Every parameter of a supported model has exactly one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Token embedding, `[vocab, hidden]`.
    Embedding,
    /// RMSNorm weight before attention, `[hidden]`.
    InputNorm,
    /// Query projection, `[heads * head_dim, hidden]`.
    Q,
    /// Key projection, `[kv_heads * head_dim, hidden]`.
    K,
    /// Value projection, `[kv_heads * head_dim, hidden]`.
    V,
    /// Query bias, `[heads * head_dim]`.
    QBias,
    /// Key bias, `[kv_heads * head_dim]`.
    KBias,
    /// Value bias, `[kv_heads * head_dim]`.
    VBias,
    /// Per-head query RMSNorm weight, `[head_dim]`.
    QNorm,
    /// Per-head key RMSNorm weight, `[head_dim]`.
    KNorm,
    /// Output projection of attention, `[hidden, heads * head_dim]`.
    O,
    /// RMSNorm weight before the MLP, `[hidden]`.
    PostNorm,
    /// Gate projection, `[intermediate, hidden]`.
    Gate,
    /// Up projection, `[intermediate, hidden]`.
    Up,
    /// Down projection, `[hidden, intermediate]`.
    Down,
    /// RMSNorm weight before the head, `[hidden]`.
    FinalNorm,
    /// Untied head, `[vocab, hidden]`.
    Head,
}

/// The parameters of one decoder layer, each as a `T`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is documented by the role of the same name")]
pub struct LayerParameters<T> {
    pub input_norm: T,
    pub q: T,
    pub k: T,
    pub v: T,
    pub q_bias: Option<T>,
    pub k_bias: Option<T>,
    pub v_bias: Option<T>,
    pub q_norm: Option<T>,
    pub k_norm: Option<T>,
    pub o: T,
    pub post_norm: T,
    pub gate: T,
    pub up: T,
    pub down: T,
}

/// The parameters of a decoder, each as a `T`: a view of the file, a float64 matrix, a packed matrix.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is documented by the role of the same name")]
pub struct Parameters<T> {
    pub embedding: T,
    pub layers: Vec<LayerParameters<T>>,
    pub final_norm: T,
    /// Absent when the head is the embedding.
    pub head: Option<T>,
}

impl<T> Parameters<T> {
    /// Converts every parameter, in storage order of use (embedding, layers in order, final norm, head).
    ///
    /// # Errors
    /// The first error `f` returns.
    pub fn try_map<U, E>(&self, mut f: impl FnMut(Role, &T) -> Result<U, E>) -> Result<Parameters<U>, E> {
        let embedding = f(Role::Embedding, &self.embedding)?;
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let mut optional = |role, t: &Option<T>| t.as_ref().map(|t| f(role, t)).transpose();
            let (q_bias, k_bias, v_bias) = (
                optional(Role::QBias, &layer.q_bias)?,
                optional(Role::KBias, &layer.k_bias)?,
                optional(Role::VBias, &layer.v_bias)?,
            );
            let (q_norm, k_norm) =
                (optional(Role::QNorm, &layer.q_norm)?, optional(Role::KNorm, &layer.k_norm)?);
            layers.push(LayerParameters {
                input_norm: f(Role::InputNorm, &layer.input_norm)?,
                q: f(Role::Q, &layer.q)?,
                k: f(Role::K, &layer.k)?,
                v: f(Role::V, &layer.v)?,
                q_bias,
                k_bias,
                v_bias,
                q_norm,
                k_norm,
                o: f(Role::O, &layer.o)?,
                post_norm: f(Role::PostNorm, &layer.post_norm)?,
                gate: f(Role::Gate, &layer.gate)?,
                up: f(Role::Up, &layer.up)?,
                down: f(Role::Down, &layer.down)?,
            });
        }
        let final_norm = f(Role::FinalNorm, &self.final_norm)?;
        let head = self.head.as_ref().map(|t| f(Role::Head, t)).transpose()?;
        Ok(Parameters { embedding, layers, final_norm, head })
    }

    /// The same for every parameter that a model of this configuration has.
    pub fn all(config: &Config, value: &T) -> Self
    where
        T: Clone,
    {
        let when = |has: bool| has.then(|| value.clone());
        let layer = LayerParameters {
            input_norm: value.clone(),
            q: value.clone(),
            k: value.clone(),
            v: value.clone(),
            q_bias: when(config.qkv_bias),
            k_bias: when(config.qkv_bias),
            v_bias: when(config.qkv_bias),
            q_norm: when(config.qk_norm),
            k_norm: when(config.qk_norm),
            o: value.clone(),
            post_norm: value.clone(),
            gate: value.clone(),
            up: value.clone(),
            down: value.clone(),
        };
        Self {
            embedding: value.clone(),
            layers: vec![layer; config.layers],
            final_norm: value.clone(),
            head: when(!config.tied),
        }
    }

    /// Converts every parameter, in the order of [`try_map`](Self::try_map).
    pub fn map<U>(&self, mut f: impl FnMut(Role, &T) -> U) -> Parameters<U> {
        let Ok(mapped) = self.try_map(|role, t| Ok::<U, std::convert::Infallible>(f(role, t)));
        mapped
    }
}

impl Parameters<StoredType> {
    /// The type that stands for how the matrices are stored: one of blocks where there is any, else the embedding's.
    pub fn standing(&self) -> StoredType {
        let mut block = None;
        self.map(|_, stored| block = block.or(Some(*stored).filter(|stored| stored.is_block())));
        block.unwrap_or(self.embedding)
    }
}
