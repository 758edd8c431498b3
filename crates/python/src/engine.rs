//! A model that is open.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use tilewright_engine::{
    Cancel, DeviceRequest, Embedding, Message, OpenOptions, Pooling, Positions, Prompt, ReasoningSplitter,
    Refusal, Request, Scheduler, SchedulerOptions, ScoreOptions, Session, Source,
};
use tilewright_model::{Code, Finding};

use crate::fields::{Options, Params, Rendering};
use crate::raw::Floats;
use crate::refusal::ok;
use crate::reply::Reply;
use crate::report::Report;
use crate::template::render;
use crate::tokenizer::Tokenizer;
use crate::value::{from_python, to_python};
use crate::watch::{abandonable, limit, watched};

/// A model resident on a device.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Engine(tilewright_engine::Engine);

/// The device that a word means on this machine.
#[pyfunction]
pub(crate) fn choose_device(py: Python<'_>, device: &str) -> PyResult<String> {
    let choose = || {
        let unknown = |error| Refusal::new(Code::DeviceOptionInvalid, "device", "a device's name", error);
        let request: DeviceRequest = device.parse().map_err(unknown)?;
        Ok(request.choose()?.kind.to_string())
    };
    ok(py, py.detach(choose))
}

/// Several replies, as far as they have come.
fn collect(sessions: Vec<Session>) -> Result<Vec<Report>, Refusal> {
    let one = |session: Session| {
        let (mut report, mut splitter) = (Report::default(), ReasoningSplitter::answer());
        for event in session {
            report.add(event?, &mut splitter);
        }
        Ok(report)
    };
    sessions.into_iter().map(one).collect()
}

impl Engine {
    fn render(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        rendering: Rendering<'_>,
    ) -> PyResult<Prompt> {
        let messages = from_python(messages)?;
        let args = rendering.resolve()?;
        let prompt = py.detach(|| {
            let messages = Message::list_from_json(&messages)?;
            render(&self.0.template()?, &messages, &args)
        });
        ok(py, prompt)
    }

    fn ids(&self, prompt: &Prompt) -> Result<Vec<u32>, Refusal> {
        let none = || Refusal::new(Code::TokenizerInvalid, "tokenizer", "one in the checkpoint", "none");
        self.0.tokenizer().ok_or_else(none)?.encode_chat(prompt)
    }

    fn reply(&self, request: Request, splitter: ReasoningSplitter) -> Result<Reply, Refusal> {
        let cancel = request.cancel.clone();
        Reply::start(self.0.generate(request)?, cancel, splitter)
    }
}

#[pymethods]
impl Engine {
    /// Opens the checkpoint in a folder; without one, the small story model.
    #[staticmethod]
    fn open(py: Python<'_>, path: Option<PathBuf>, options: Options) -> PyResult<Self> {
        let options: OpenOptions = ok(py, options.resolve())?;
        let source = path.map_or(Source::Embedded, Source::Path);
        let cancel = options.cancel.clone();
        let open = move || tilewright_engine::Engine::open(source, &options, &mut |_| ());
        abandonable(py, &cancel, open).map(Self)
    }

    /// Plan, shape, stop set and what else was resolved.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let engine = &self.0;
        let facts = json!({
            "plan": engine.plan(),
            "config": engine.config(),
            "stop": engine.stop_set(),
            "device_reason": engine.device().reason,
            "load_seconds": engine.load_time().as_secs_f64(),
            "sampling": engine.sampling_defaults(),
        });
        to_python(py, &facts)
    }

    /// The tokenizer, if there is one.
    #[getter]
    fn tokenizer(&self) -> Option<Tokenizer> {
        self.0.tokenizer().cloned().map(Tokenizer)
    }

    /// The ids of a text to be continued.
    fn encode(&self, py: Python<'_>, text: &str) -> PyResult<Vec<u32>> {
        ok(py, py.detach(|| self.0.encode(text)))
    }

    /// The text that a conversation becomes.
    fn apply_template(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        rendering: Rendering<'_>,
    ) -> PyResult<String> {
        Ok(self.render(py, messages, rendering)?.text().to_owned())
    }

    /// The ids that a conversation becomes.
    fn encode_chat(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        rendering: Rendering<'_>,
    ) -> PyResult<Vec<u32>> {
        let prompt = self.render(py, messages, rendering)?;
        ok(py, py.detach(|| self.ids(&prompt)))
    }

    /// Launches of the latest step, on a device that counts them.
    fn dispatches(&self, py: Python<'_>) -> Option<usize> {
        py.detach(|| self.0.dispatches())
    }

    /// Begins the reply to ids. A text to be continued keeps the space at its end.
    fn start(&self, py: Python<'_>, ids: Vec<u32>, params: Params, continuation: bool) -> PyResult<Reply> {
        let begin = || {
            let request = params.request(ids, &Cancel::default(), continuation)?;
            self.reply(request, ReasoningSplitter::answer())
        };
        ok(py, py.detach(begin))
    }

    /// Begins the reply to a conversation.
    fn start_chat(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        rendering: Rendering<'_>,
        params: Params,
    ) -> PyResult<Reply> {
        let prompt = self.render(py, messages, rendering)?;
        let begin = || {
            let request = params.request(self.ids(&prompt)?, &Cancel::default(), false)?;
            self.reply(request, ReasoningSplitter::new(&prompt))
        };
        ok(py, py.detach(begin))
    }

    /// The replies to several prompts, which share sweeps over the weights.
    fn together(
        &self,
        py: Python<'_>,
        prompts: Vec<Vec<u32>>,
        params: Vec<Params>,
        seconds: Option<f64>,
    ) -> PyResult<Vec<Report>> {
        let cancel = Cancel::default();
        let work = || {
            if prompts.len() != params.len() {
                let findings =
                    vec![Finding::new("params", format!("{} of them", prompts.len()), params.len())];
                return Err(Refusal::with_findings(Code::RequestInvalid, findings));
            }
            let most = tilewright_engine::MAX_SEQUENCES;
            let options = SchedulerOptions {
                parallel: prompts.len().clamp(1, most),
                queue: prompts.len(),
                ..SchedulerOptions::default()
            };
            let requests: Vec<Request> = prompts
                .into_iter()
                .zip(params)
                .map(|(ids, params)| params.request(ids, &cancel, true))
                .collect::<Result<_, _>>()?;
            let scheduler = Scheduler::start(&self.0, options)?;
            let sessions: Vec<Session> =
                requests.into_iter().map(|request| scheduler.open(request)).collect::<Result<_, _>>()?;
            collect(sessions)
        };
        watched(py, &cancel, limit(seconds), work)
    }

    /// Logits after the last id, or after every one.
    fn logits(&self, py: Python<'_>, ids: Vec<u32>, every: bool) -> PyResult<Floats> {
        let cancel = Cancel::default();
        let positions = if every { Positions::Every } else { Positions::Last };
        let data = watched(py, &cancel, None, || self.0.logits(&ids, positions, &cancel))?;
        Ok(if every { Floats::matrix(data, self.0.config().vocab) } else { Floats::vector(data) })
    }

    /// The pooled hidden states of ids.
    fn embed(&self, py: Python<'_>, ids: Vec<u32>, mean: bool) -> PyResult<Floats> {
        let cancel = Cancel::default();
        let pooling = if mean { Pooling::Mean } else { Pooling::Last };
        let chunk = self.0.plan().prefill_chunk;
        let work = || {
            let mut embedding = Embedding::new(&self.0, ids, pooling)?;
            loop {
                if let Some(vector) = embedding.advance(chunk, &cancel)? {
                    return Ok(vector);
                }
            }
        };
        watched(py, &cancel, None, work).map(Floats::vector)
    }

    /// The negative log-likelihood of every id but the first.
    fn score(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<Vec<f64>> {
        let options = ScoreOptions::default();
        watched(py, &options.cancel, None, || Ok(self.0.score(&ids, &options, &mut |_, _| ())?.nll))
    }
}
