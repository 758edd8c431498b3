"""The decode functions over a small checkpoint, and what they raise."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

import tilewright
from tilewright import InferenceError, MojoRuntime, Qwen3DecodeError, Runtime, UnsupportedCheckpointArchitectureError

#: The story model as a folder: four layers, with tokenizer and template.
STORIES = Path(__file__).parents[3] / "models" / "stories-qwen3"
PROMPT = "Once upon a time"


class DecodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = MojoRuntime(mode="local")
        cls.tokenizer = tilewright.load_tokenizer(STORIES)
        cls.ids = cls.tokenizer.encode(PROMPT)

    def decode(self, **arguments):
        return tilewright.decode(self.runtime, checkpoint_dir=STORIES, **arguments)

    def refused(self, code, call, kind=InferenceError):
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return str(caught.exception)

    def test_a_checkpoint_s_template_is_applied_without_its_model(self):
        messages = [{"role": "user", "content": "Tell me a story."}]
        text = tilewright.apply_chat_template(STORIES, messages)
        self.assertEqual(text, tilewright.Model.load().apply_template(messages))
        bare = tilewright.apply_chat_template(STORIES, messages, add_generation_prompt=False)
        self.assertTrue(text.startswith(bare) and len(text) > len(bare))
        tool = {"type": "function", "function": {"name": "add"}}
        for arguments, name in [({"tools": [tool]}, "request_invalid"), ({}, "message_invalid")]:
            with self.assertRaises(tilewright.Refusal) as caught:
                tilewright.apply_chat_template(STORIES, messages if arguments else [{"role": "bard"}], **arguments)
            self.assertEqual(caught.exception.name, name)

    def test_calls_of_tools_are_told_from_text(self):
        split = tilewright.split_tool_calls_from_generated_text
        call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
        calls = [{"name": "add", "arguments": {"a": 1}}]
        self.assertEqual(split(f"Let me see.\n{call}\n{call}"), ("Let me see.", calls * 2))
        self.assertEqual(split(call), (None, calls))
        broken = "<tool_call>{</tool_call>"
        self.assertEqual(split(broken), (broken, []))
        self.assertEqual(split(""), (None, []))

    def test_prompt_and_reply_come_back_together(self):
        result = self.decode(prompt_token_ids=self.ids, max_new_tokens=8)
        self.assertEqual(result.token_ids[: result.n_prompt], self.ids)
        self.assertEqual(len(result.token_ids), len(self.ids) + 8)
        self.assertFalse(result.stopped_on_eos)
        self.assertGreater(result.decode_tokens_per_sec, 0)
        self.assertGreater(result.prefill_tokens_per_sec, 0)
        self.assertIsNone(result.generated_text)
        text = self.decode(prompt_text=PROMPT, max_new_tokens=8)
        self.assertEqual(text.token_ids, result.token_ids)
        self.assertEqual(PROMPT + text.generated_text, self.tokenizer.decode(text.token_ids))

    def test_sampling_is_a_function_of_the_seed(self):
        draw = lambda **more: self.decode(prompt_token_ids=self.ids, temperature=1.0, **more).token_ids
        self.assertEqual(draw(seed=3), draw(seed=3))
        greedy = self.decode(prompt_token_ids=self.ids).token_ids
        self.assertEqual(draw(top_k=1), greedy)
        self.assertEqual(self.decode(prompt_token_ids=self.ids, temperature=-1.0).token_ids, greedy)

    def test_messages_go_through_the_template(self):
        messages = [{"role": "user", "content": "Tell me a story."}]
        result = self.decode(messages=messages, max_new_tokens=4)
        self.assertIn("Tell me a story.", self.tokenizer.decode(result.token_ids))
        self.assertTrue(result.generated_text)

    def test_a_stream_says_the_same_and_can_be_left(self):
        whole = self.decode(prompt_text=PROMPT, max_new_tokens=8)
        stream = tilewright.decode_stream(checkpoint_dir=STORIES, prompt_text=PROMPT, max_new_tokens=8)
        tokens = list(stream)
        self.assertEqual([token.token_id for token in tokens], whole.token_ids[whole.n_prompt :])
        self.assertEqual("".join(token.text_delta for token in tokens), whole.generated_text)
        self.assertEqual([token.position for token in tokens], list(range(len(self.ids) + 1, len(self.ids) + 9)))
        self.assertEqual([token.done for token in tokens], [False] * 7 + [True])
        for token in tilewright.decode_stream(checkpoint_dir=STORIES, prompt_token_ids=self.ids, max_new_tokens=100):
            self.assertIsNone(token.text_delta)
            break

    def test_a_batch_says_what_each_says_alone(self):
        prompts = [self.ids, self.tokenizer.encode("The fox"), self.tokenizer.encode("A")]
        batch = tilewright.decode_batched(
            self.runtime, checkpoint_dir=STORIES, prompt_token_ids_list=prompts, max_new_tokens=6
        )
        model = self.runtime.model(STORIES)
        params = tilewright.SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)
        self.assertEqual(batch.generated_token_ids, [model.generate(ids, params).token_ids for ids in prompts])
        self.assertEqual((batch.n_prompt_total, batch.prefill_chunks), (sum(map(len, prompts)), 3))
        many = [self.ids] * 33
        for bad in (many, [], [[]]):
            self.refused(
                "invalid_arguments",
                lambda: tilewright.decode_batched(self.runtime, checkpoint_dir=STORIES, prompt_token_ids_list=bad),
            )

    def test_a_session_goes_on_when_it_is_asked(self):
        expected = self.decode(prompt_token_ids=self.ids, max_new_tokens=3).token_ids[len(self.ids) :]
        handle = tilewright.open_qwen3_decode_session(STORIES, self.ids, max_new_tokens=3, runtime=self.runtime)
        self.refused(
            "qwen3_session_already_open",
            lambda: tilewright.open_qwen3_decode_session(STORIES, self.ids, max_new_tokens=3),
        )
        steps = [tilewright.step_qwen3_decode_session(handle) for _ in range(4)]
        self.assertEqual([step["token_id"] for step in steps], expected + expected[-1:])
        self.assertEqual([step["done"] for step in steps], [False, False, True, True])
        self.assertEqual(steps[0]["position"], len(self.ids) + 1)
        self.assertEqual(steps[3], steps[2])
        self.assertTrue(tilewright.close_qwen3_decode_session(handle))
        self.assertFalse(tilewright.close_qwen3_decode_session(handle))
        self.refused("qwen3_session_not_found", lambda: tilewright.step_qwen3_decode_session(handle))
        self.refused("qwen3_session_not_found", lambda: tilewright.close_qwen3_decode_session("qwen3-none"))

    def test_the_runtime_keeps_a_model_until_its_files_change(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            shutil.copytree(STORIES, copy)
            runtime = Runtime()
            model = runtime.model(copy)
            self.assertIs(runtime.model(copy), model)
            self.assertEqual(model.plan["weights"], "int8")
            path = copy / "generation_config.json"
            path.write_text(path.read_text() + "\n")
            self.assertIsNot(runtime.model(copy), model)
            runtime.close()
        self.assertEqual(Runtime(weights="f32").model(STORIES).plan["weights"], "f32")

    def test_a_converted_pair_says_the_same_in_either_type(self):
        exact = Runtime(weights="f32")
        expected = tilewright.decode(exact, checkpoint_dir=STORIES, prompt_token_ids=self.ids).token_ids
        for dtype in ("f64", "f32"):
            with tempfile.TemporaryDirectory() as folder:
                pair = tilewright.prepare_model_checkpoint(STORIES, self.ids, out_dir=folder, weights_dtype=dtype)
                self.assertEqual(json.loads((pair / "manifest.json").read_text())["input_ids"], self.ids)
                found = tilewright.decode(
                    exact, checkpoint_dir=STORIES, converted_checkpoint_dir=pair, prompt_token_ids=self.ids
                )
                self.assertEqual(found.token_ids, expected)

    def test_what_the_caller_gave_wrong_has_a_code(self):
        ids = self.ids
        for arguments in (
            {},
            {"prompt_token_ids": ids, "prompt_text": PROMPT},
            {"prompt_token_ids": []},
            {"prompt_token_ids": [-1]},
            {"prompt_token_ids": [True]},
            {"prompt_token_ids": [10**6]},
            {"prompt_token_ids": ids, "max_new_tokens": 0},
            {"prompt_token_ids": ids, "max_new_tokens": True},
            {"prompt_token_ids": ids, "max_ctx": 3},
            {"prompt_token_ids": ids, "tools": []},
            {"prompt_token_ids": ids, "temperature": 1.0, "top_p": 0.0},
            {"prompt_token_ids": ids, "temperature": float("nan")},
            {"prompt_token_ids": ids, "temperature": float("inf")},
            {"prompt_token_ids": ids, "temperature": "0"},
            {"prompt_token_ids": ids, "max_new_tokens": 10**6},
        ):
            self.refused("invalid_arguments", lambda: self.decode(**arguments))
        missing = lambda: tilewright.decode(self.runtime, checkpoint_dir="/nowhere", prompt_token_ids=ids)
        self.refused("checkpoint_not_found", missing)
        pair = lambda: self.decode(prompt_token_ids=ids, converted_checkpoint_dir="/nowhere")
        self.refused("checkpoint_not_found", pair)
        sampled = lambda: tilewright.decode_stream(checkpoint_dir=STORIES, prompt_token_ids=ids, temperature=1.0)
        self.refused("sampling_not_supported_in_stream", sampled)
        nan = float("nan")
        unclear = lambda: tilewright.decode_stream(checkpoint_dir=STORIES, prompt_token_ids=ids, temperature=nan)
        self.refused("invalid_arguments", unclear)
        self.refused("invalid_arguments", lambda: Runtime(mode="daemon"))
        self.refused("invalid_arguments", lambda: Runtime(api_key="x"))

    def test_a_time_that_passes_ends_the_decode(self):
        slow = Runtime(timeout=0.0)
        slow.model(STORIES)
        call = lambda: tilewright.decode(
            slow, checkpoint_dir=STORIES, prompt_token_ids=self.ids * 20, max_new_tokens=64
        )
        # However fast the machine is: the whole reply may be there before anyone looks at the time.
        for _ in range(20):
            self.refused("runtime_execution_failed", call)
        stream = lambda: list(
            tilewright.decode_stream(checkpoint_dir=STORIES, prompt_token_ids=self.ids, max_new_tokens=1, timeout=0.0)
        )
        self.refused("runtime_execution_failed", stream)
        batch = lambda: tilewright.decode_batched(
            self.runtime, checkpoint_dir=STORIES, prompt_token_ids_list=[self.ids], max_new_tokens=1, timeout=0.0
        )
        self.refused("runtime_execution_failed", batch)
        late = self.runtime.execute("metaldispatch.contract", "metaldispatch_dispatch_budget", [28], timeout=0.0)
        self.assertEqual((late["success"], late["error_code"]), (False, "runtime_execution_failed"))

    def test_library_functions_are_called_by_name(self):
        runtime, contract = self.runtime, "metaldispatch.contract"
        self.assertIn(contract, runtime.list_modules())
        self.assertIn("metaldispatch_status_name", runtime.list_functions(contract))
        self.assertEqual(
            [module["name"] for module in runtime.libraries("kv_contract")], ["metaldispatch.session_prefill_policy"]
        )
        self.assertEqual(runtime.health()["device"], "cpu")
        good = runtime.execute(contract, "metaldispatch_dispatch_budget", [28])
        self.assertEqual((good["result"], good["success"], good["engine_used"]), (229, True, "native"))
        for module, function, args, code in (
            ("none", "none", None, "module_not_registered"),
            (contract, "none", None, "function_not_registered"),
            (contract, "metaldispatch_dispatch_budget", "28", "invalid_arguments"),
        ):
            bad = runtime.execute(module, function, args)
            self.assertEqual((bad["success"], bad["error_code"], bad["engine_used"]), (False, code, "none"))
        items = [
            {"module": contract, "function": "none"},
            {"module": contract, "function": "metaldispatch_status_name", "args": 620},
        ]
        batch = runtime.execute_batch(items)
        self.assertEqual((batch["ok"], batch["failed"], batch["results"][1]["result"]), (1, 1, "metaldispatch_ok"))
        self.assertEqual(runtime.execute_batch(items, partial_ok=False)["results"][1]["error_code"], "not_executed")
        self.refused("module_not_registered", lambda: runtime.list_functions("none"))
        decode = runtime.execute("metaldispatch.qwen3_decode", "qwen3_i8_allsimd7_decode_flat", ["/nowhere", 4])
        self.assertEqual(decode["result"]["status"], 631)

    def test_the_fixed_function_refuses_another_shape_with_every_fact_that_differs(self):
        for call in (
            lambda: tilewright.qwen3_i8_allsimd7_decode(
                self.runtime, checkpoint_dir=STORIES, prompt_token_ids=self.ids
            ),
            lambda: tilewright.prepare_qwen3_checkpoint(STORIES, self.ids),
        ):
            text = self.refused("unsupported_architecture", call, UnsupportedCheckpointArchitectureError)
            for fact in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"):
                self.assertIn(fact, text)
        nowhere = lambda: tilewright.qwen3_i8_allsimd7_decode(
            self.runtime, checkpoint_dir="/nowhere", prompt_token_ids=self.ids
        )
        self.refused("checkpoint_not_found", nowhere, Qwen3DecodeError)
        none = lambda: tilewright.qwen3_i8_allsimd7_decode(self.runtime, checkpoint_dir=STORIES, prompt_token_ids=[])
        self.refused("invalid_arguments", none, Qwen3DecodeError)


if __name__ == "__main__":
    unittest.main()
