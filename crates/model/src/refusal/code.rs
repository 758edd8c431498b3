//! The codes, one block each. `docs/refusals.md` is generated from this file.

/// Declares the codes: number, variant, name, then *what*, *why* and *remedy*.
macro_rules! codes {
    ($($number:literal $variant:ident $name:literal what $what:literal why $why:literal remedy $remedy:literal;)*) => {
        /// Every reason to refuse. Numbers and names never change meaning; retired ones are not reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $what] $variant = $number,)*
        }

        impl Code {
            /// Every code, by number.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name, in snake case.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What was found.
            pub fn what(self) -> &'static str {
                match self { $(Self::$variant => $what,)* }
            }

            /// Why it is refused rather than worked around.
            pub fn why(self) -> &'static str {
                match self { $(Self::$variant => $why,)* }
            }

            /// What to do instead.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }
        }
    };
}

impl Code {
    /// The stable number.
    pub fn number(self) -> u16 {
        self as u16
    }
}

codes! {
    // 620–639: the ledger of the Metal decode family. Numbers of it that say what a code below says are given out by
    // `tilewright_backend::ledger`.
    621 ShaderToolchainAbsent "metaldispatch_shader_toolchain_absent"
        what "This build or machine has nothing that compiles kernel text for the device asked for."
        why "The kernels are compiled for the model's shape when it is opened."
        remedy "On a Mac use a build with the feature `metal`; for --device shim install g++ or clang++ on Linux x86-64.";
    622 NoDevice "metaldispatch_no_device"
        what "There is no Apple GPU, or its system is older than the kernels need."
        why "No request moves to another device silently."
        remedy "Use a Mac with Apple silicon (docs/metal.md says which macOS), or another device where the command has one: --device cpu.";
    623 SessionOpenFailed "metaldispatch_session_open_failed"
        what "A kernel text was not compiled, or the session's plan may not run."
        why "There is no other code to run in its place."
        remedy "Report the message with the output of `tilewright selftest`.";
    624 PipelineNotFound "metaldispatch_pipeline_not_found"
        what "A compiled text holds no kernel of the name asked for."
        why "Another kernel would compute something else."
        remedy "Report the message with the output of `tilewright selftest`.";
    625 BufferAllocFailed "metaldispatch_buffer_alloc_failed"
        what "The device gave no buffer of the size asked for."
        why "Weights and caches lie in buffers as a whole."
        remedy "Use a smaller weight format or --ctx, or close other programs.";
    626 UploadLength "metaldispatch_upload_length"
        what "Bytes to upload or read do not fit the buffer they are for."
        why "Whatever lies beyond would be another tensor's."
        remedy "Report it with the checkpoint's config.json.";
    628 DispatchFailed "metaldispatch_dispatch_failed"
        what "The GPU reported an error while it ran kernels."
        why "Whatever was computed since is not known to be right."
        remedy "Open the model again; if it persists, report the output of `tilewright selftest`.";
    629 DispatchCountMismatch "metaldispatch_dispatch_count_mismatch"
        what "A run issued another number of dispatches than its pipeline has stages."
        why "A kernel that was left out or run twice leaves numbers that look right."
        remedy "Report it with the output of `tilewright inspect`.";

    // 700–729: what is on disk.
    700 CheckpointNotFound "checkpoint_not_found"
        what "The path holds no checkpoint: it or a file it must hold is missing."
        why "Nothing can be guessed about a model that is not there."
        remedy "Name a directory with config.json, tokenizer.json and model.safetensors (or its index), or a GGUF file.";
    701 FileUnreadable "file_unreadable"
        what "A file is there but could not be opened, mapped or read."
        why "A partly read file would give wrong weights."
        remedy "Check permissions, the disk and, for text, that it is UTF-8; then try again.";
    702 ConfigInvalid "config_invalid"
        what "config.json is not JSON of the expected types, or misses a key the family always states."
        why "A default for a missing number is a silent wrong answer."
        remedy "Restore the file from the model's publisher.";
    703 UnsupportedArchitecture "unsupported_architecture"
        what "The configuration states facts outside the supported set, or keys whose meaning is unknown."
        why "An ignored key is a silently different model."
        remedy "See docs/models.md for the supported facts.";
    704 TensorMismatch "tensor_mismatch"
        what "The tensors in the files are not exactly those the configuration calls for."
        why "A missing, extra, misshaped or mistyped tensor means that file and configuration belong to different models."
        remedy "Download the checkpoint again, or correct its config.json.";
    705 RopeContradictory "rope_contradictory"
        what "Rotary settings are stated in two places that do not agree."
        why "Either value could be meant, and the wrong one gives fluent nonsense far into a text."
        remedy "Keep one of the two, the one the model's publisher states.";
    706 WeightsUnsupported "weights_unsupported"
        what "The weights are there, but only in a format that is not read."
        why "A pickle runs code when it is read; other formats hold other numbers than they seem to."
        remedy "Use the model's safetensors files, or GGUF with the types of docs/models.md.";
    707 SafetensorsInvalid "safetensors_invalid"
        what "A safetensors file whose header cannot be true of the file: lengths, shapes or ranges do not fit."
        why "The file is cut, damaged or made to mislead; nothing it says can be believed."
        remedy "Download the file again.";
    708 IndexInvalid "index_invalid"
        what "model.safetensors.index.json and the shards do not agree, or it names a file outside the folder."
        why "A tensor taken from the wrong file is a silently different model."
        remedy "Download index and shards again, all from the same revision.";
    709 StrayWeights "stray_weights"
        what "The folder holds safetensors files that are not part of the checkpoint."
        why "They may redefine tensors, and nothing says which are meant."
        remedy "Move the files named to another folder.";
    710 TiedHeadDiffers "tied_head_differs"
        what "The configuration ties head and embedding, but the file stores a head that is not the embedding."
        why "Either the configuration or the file is wrong, and they are two different models."
        remedy "Correct tie_word_embeddings, or use the publisher's files.";
    711 NonFiniteWeight "non_finite_weight"
        what "A weight is infinite or not a number."
        why "One such weight turns every later number into the same."
        remedy "Download the checkpoint again, or repair the export that made it.";
    712 ManifestInvalid "manifest_invalid"
        what "manifest.json is not of the converted form, or does not fit weights.blob."
        why "Every element is found by the manifest's counts; one wrong count shifts the rest of the model."
        remedy "Convert the checkpoint again.";
    713 GenerationConfigInvalid "generation_config_invalid"
        what "generation_config.json holds a value outside its domain, or asks for a way of sampling that is not offered."
        why "Defaults that are dropped silently give other texts than the publisher meant."
        remedy "Correct or remove generation_config.json, and pass the settings wanted as flags.";
    714 FixedShapeMismatch "fixed_shape_mismatch"
        what "The fixed entry point was given another model than Qwen3-0.6B-Base."
        why "That entry point is defined for one shape only."
        remedy "Use the general entry point, which takes every supported shape.";
    715 GgufInvalid "gguf_invalid"
        what "A GGUF file whose header cannot be true of the file: counts, sizes, types or places do not fit."
        why "The file is cut, damaged or made to mislead; nothing it says can be believed."
        remedy "Download the file again, with all its parts when it is split.";
    716 PackedWeightsDiffer "packed_weights_differ"
        what "Weights that were packed two to a word do not give back the numbers that were packed."
        why "Packing is storage: nothing may be computed with other weights."
        remedy "Choose a format that holds them, such as --weights f32, and report the message.";
    725 FileUnwritable "file_unwritable"
        what "A file could not be created, written or renamed."
        why "A partly written file must not pass for a whole one."
        remedy "Check permissions, free space and limits on file size, or choose another directory.";
    726 OutputExists "output_exists"
        what "A file that would be written is there already."
        why "It may be the only copy of something."
        remedy "Choose another name or directory, or remove what is there.";
    727 InexactConversion "inexact_conversion"
        what "Something cannot be held exactly in the form asked for: a weight in its element type, a fact in its keys."
        why "A converted checkpoint is the same model."
        remedy "Convert to a form that holds it: f64 for the converted pair, or another --to.";
    728 OutputBusy "output_busy"
        what "Another process is writing to the same place."
        why "Two that write one file would spoil it."
        remedy "Wait until the other process has ended, or choose another place.";

    // 730–749: text.
    730 TokenizerInvalid "tokenizer_invalid"
        what "tokenizer.json cannot be read or uses a component that is not known."
        why "A tokenizer that is nearly right gives ids that are wrong."
        remedy "Use the tokenizer.json published with the model.";
    731 TextUnencodable "text_unencodable"
        what "A text holds a character the vocabulary cannot spell, or the pre-tokenizer's pattern gives up on it."
        why "Leaving out or replacing part of a prompt changes it without a word."
        remedy "Remove the part named, or pass ids in place of text.";
    732 TokenUnknown "token_unknown"
        what "An id is not in the tokenizer's vocabulary."
        why "Models are padded with ids that mean nothing; their output is noise."
        remedy "Use ids below the tokenizer's size.";
    740 TemplateInvalid "template_invalid"
        what "The chat template cannot be parsed or rendered."
        why "A prompt in another shape than the model was trained on gives worse answers without a word."
        remedy "Name another template with --chat-template FILE, or do without: `run --raw` and POST /v1/completions take a prompt as it is.";
    741 MessageInvalid "message_invalid"
        what "A message of a conversation has a field, role or type that is not understood."
        why "A message that is partly ignored is another conversation."
        remedy "Correct the field named; docs/chat-templates.md lists them.";
    742 ContentUnsupported "content_unsupported"
        what "A message has content other than text, such as an image."
        why "The model reads text only; leaving the part out would answer another question."
        remedy "Send text parts only.";
    743 ContentUnprotected "content_unprotected"
        what "The template examines or edits control strings inside a message, so what is content cannot be told from what is template."
        why "Content that becomes a control token can speak in another role's name."
        remedy "Remove the control strings from the message, or use another template.";

    // 750–779: requests.
    750 ContextFull "context_full"
        what "Prompt and reply do not fit the context."
        why "A prompt is never truncated."
        remedy "Shorten the prompt, ask for fewer tokens, or raise --ctx.";
    751 SamplingInvalid "sampling_invalid"
        what "A sampling value is outside its range."
        why "A value out of range has no meaning to fall back on."
        remedy "Use a value in the stated range.";
    752 NonFiniteLogits "non_finite_logits"
        what "The model produced a logit that is not a number or infinite."
        why "Any token picked from such logits would be arbitrary."
        remedy "Run with --weights f32; if it persists, the checkpoint is damaged.";
    753 Cancelled "cancelled"
        what "The request was cancelled before it finished."
        why "The caller asked for it."
        remedy "Send the request again.";
    754 RequestInvalid "request_invalid"
        what "A field of the request has a value that cannot be honored."
        why "A field that is ignored, clipped or guessed gives another reply than the one asked for."
        remedy "Give what is expected in place of what was found, or leave it out.";

    755 QueueFull "queue_full"
        what "As many requests run and wait as may."
        why "A request that waits without bound looks like one that hangs."
        remedy "Send the request again later, or raise --parallel or --queue.";

    756 ModelNotFound "model_not_found"
        what "The request names a model that is not the one served."
        why "Another model's reply is not the one asked for."
        remedy "Use the name that GET /v1/models gives, or start the server with --served-name.";
    757 EndpointUnsupported "endpoint_unsupported"
        what "The path or method is none of the server's."
        why "A neighbouring endpoint means something else."
        remedy "docs/server.md lists the endpoints.";
    758 Unauthorized "unauthorized"
        what "The request does not carry the server's API key."
        why "The server was started with --api-key."
        remedy "Send it as `Authorization: Bearer KEY`.";
    759 BodyTooLarge "body_too_large"
        what "The request's body is larger than the server takes."
        why "Memory is bounded before it is read."
        remedy "Send a smaller body, or raise --body-limit.";
    760 GrammarInvalid "grammar_invalid"
        what "A JSON schema or tool asks for something that cannot be enforced token by token."
        why "Output that only mostly keeps a schema is worse than none."
        remedy "Leave out the keyword named, or ask for less (json_object, a tool_choice of auto) and check the reply yourself.";
    761 ServerUnavailable "server_unavailable"
        what "The server is still loading its model, or is shutting down."
        why "A request is answered whole or not begun."
        remedy "Ask GET /health, and send the request again when it says ok.";
    762 AddressUnavailable "address_unavailable"
        what "The server cannot listen at the address asked for."
        why "Another address would be found by nobody."
        remedy "Choose another --port or --host, or end the program that holds it.";

    763 ModuleNotRegistered "module_not_registered"
        what "There is no library module of this name."
        why "Another module's function would do something else."
        remedy "Take a name from GET /v1/libraries or `tilewright runtime modules`.";
    764 FunctionNotRegistered "function_not_registered"
        what "The library module has no function of this name."
        why "Another function would do something else."
        remedy "Take a name from `tilewright runtime functions MODULE`.";
    765 InvalidArguments "invalid_arguments"
        what "The arguments of a library function are not those it takes, or may not be used by this caller."
        why "A value that is converted or left out gives another result than the one asked for."
        remedy "`tilewright runtime functions MODULE` has every parameter with its type.";

    766 ContentTypeUnsupported "content_type_unsupported"
        what "A body whose Content-Type does not say that it is JSON."
        why "A page in a browser may send any other type, or none, to a server on the same machine without being asked."
        remedy "Send it with the header `Content-Type: application/json`.";
    767 HostUnknown "host_unknown"
        what "The request is addressed to a name that is not this server's."
        why "A page whose name is made to lead to this machine could otherwise use a server that only this machine may reach."
        remedy "Use the address that the server printed, or start it with --allow-host NAME.";
    768 UsageInvalid "usage_invalid"
        what "The command line, or a variable in its place, does not parse."
        why "A flag that is guessed does something else than what was asked for."
        remedy "See the command's --help; docs/cli.md has every flag.";

    // 770–779: kernels.
    770 KernelUnknown "kernel_unknown"
        what "No kernel or pipeline of this name can be built for this shape."
        why "Another kernel would be mistaken for the one asked for."
        remedy "Take a name from `tilewright kernels list`, with the same --shape.";
    771 KernelRejected "kernel_rejected"
        what "The verifier does not accept the kernel at this shape."
        why "A kernel that is not proven would read or write outside its memory, or race."
        remedy "Report it: every kernel of the catalogue must be accepted at every shape it says it fits.";

    // 780–799: devices.
    780 DeviceUnavailable "device_unavailable"
        what "The device asked for is not present or not supported by this build."
        why "No request moves to another device silently."
        remedy "Use --device auto, or see `tilewright doctor`.";
    781 OutOfMemory "out_of_memory"
        what "Weights and KV cache do not fit the memory of the device."
        why "An overcommitted machine swaps or kills other work."
        remedy "Use a smaller weight format or context (--weights, --ctx), or close other programs.";
    782 DeviceOptionInvalid "device_option_invalid"
        what "An option of the device is outside what the device or the model allows."
        why "An option that is clipped or ignored measures something else than what was asked for."
        remedy "Use a value in the stated range; see `tilewright doctor` for what this machine has.";
    783 CudaDriverMissing "cuda_driver_missing"
        what "The NVIDIA driver's library is not on this machine, or does not answer."
        why "Nothing of an NVIDIA GPU can be reached without it."
        remedy "Install NVIDIA's driver, or use --device cpu.";
    784 CudaDriverTooOld "cuda_driver_too_old"
        what "The NVIDIA driver is older than the functions called or than the code that the compiler found makes."
        why "Such code fails when it is loaded, or worse, later."
        remedy "Update the driver, or install an NVRTC of the driver's major version (pip install nvidia-cuda-nvrtc-cu12).";
    785 GpuTooOld "gpu_too_old"
        what "The GPU's compute capability is below 7.5."
        why "The kernels use instructions that it does not have."
        remedy "Use a newer GPU, or --device cpu.";
    786 NvrtcMissing "nvrtc_missing"
        what "NVRTC, which compiles the kernels, was not found."
        why "Kernels are compiled for the model's shape at its first use."
        remedy "pip install nvidia-cuda-nvrtc, or install the CUDA toolkit, or name the library in TILEWRIGHT_NVRTC.";
    787 KernelUncompilable "kernel_uncompilable"
        what "NVRTC did not compile a kernel."
        why "There is no other code to run in its place."
        remedy "Try another version of NVRTC, and report the log with the GPU's name.";
    788 DeviceFailed "device_failed"
        what "A call to the device's driver failed, or a kernel did."
        why "Whatever was computed since is not known to be right."
        remedy "Open the model again; if it persists, see `tilewright doctor` and the system's log.";
    789 DeviceTimeout "device_timeout"
        what "A part of the GPU waited past its deadline for another part."
        why "Waiting on would hang the GPU; the findings say who waited for what."
        remedy "Open the model again; make sure that no other program holds multiprocessors of the GPU.";

    // 790–799: measurement.
    790 GateFailed "gate_failed"
        what "What is to be measured does not agree with the reference, or did not give the same tokens in every run."
        why "A time of a wrong result means nothing: no timing is published."
        remedy "See the failure report; report it with the output of `tilewright doctor`.";
    791 ReportInvalid "report_invalid"
        what "A benchmark report is not what its own raw trials, checks and hashes say."
        why "A number that cannot be computed again from what stands beside it is not evidence."
        remedy "Take the report as the benchmark wrote it, or run the benchmark again.";
    792 PeerUnavailable "peer_unavailable"
        what "The engine to compare with cannot be started here, or does not offer what is measured."
        why "A comparison that leaves out what was asked for looks like one that was made."
        remedy "Install it as bench/peers/README.md says and name its Python: --compare NAME=PYTHON.";
    793 MeasuredChanged "measured_changed"
        what "The program, its sources or the checkpoint changed while it was measured."
        why "A report speaks of one program and one checkpoint."
        remedy "Run the benchmark again while nothing is written.";
    794 ServerUnmeasurable "server_unmeasurable"
        what "A server under load is not there, refuses, breaks off, or gives another number of tokens than was asked for."
        why "Only the time of whole replies to the same requests can be compared."
        remedy "Check the address and what the server says; docs/bench.md has what it must offer.";

    // 800–819: downloads.
    800 HubEndpointInvalid "hub_endpoint_invalid"
        what "HF_ENDPOINT is no address of a hub, or what answers there does not speak as a hub does."
        why "A page of a proxy or a login form must not pass for a model."
        remedy "Correct or unset HF_ENDPOINT, and see whether a proxy stands between.";
    801 HubRepositoryNotFound "hub_repository_not_found"
        what "The hub has no repository of this name, or shows it to nobody without a token."
        why "A model of a similar name is another model."
        remedy "Check org/name; for a private repository set HF_TOKEN.";
    802 HubFileNotFound "hub_file_not_found"
        what "The repository has no file of this name, or none that makes a checkpoint."
        why "Another file is another model."
        remedy "Take a name from the findings, as org/name:file.";
    803 HubFileUnclear "hub_file_unclear"
        what "The repository has several GGUF models, and nothing says which is meant."
        why "They differ in size and quality, and each is large."
        remedy "Name one of those listed, as org/name:file.";
    804 HubTokenNeeded "hub_token_needed"
        what "The hub shows the repository only to those it knows or who accepted its terms."
        why "Only the person can do that."
        remedy "Accept the terms on the repository's page, and set HF_TOKEN to a token that may read it.";
    805 HubChecksumDiffers "hub_checksum_differs"
        what "A downloaded file is not the one the hub says it is."
        why "A damaged or exchanged weight file is a silently different model; it was deleted."
        remedy "Run the command again; if it persists, a proxy or mirror changes the file.";
    806 HubConnectionLost "hub_connection_lost"
        what "The hub could not be reached, or the connection broke again and again."
        why "Part of a file is no file; what arrived is kept."
        remedy "Run the command again: it goes on where it stopped. Check the network, HTTPS_PROXY and HF_ENDPOINT.";
    807 HubRefused "hub_refused"
        what "The hub answered with an error, also when asked again: too many requests, or a failure of its own."
        why "Asking on without a pause would be refused as well."
        remedy "Run the command again later; a token in HF_TOKEN raises the limit of requests.";
    808 HubFileBusy "hub_file_busy"
        what "Another process is downloading the same file into the same cache."
        why "Two that write one file would spoil it."
        remedy "Wait until the other one has ended, then run the command again: what has come is there.";
}
