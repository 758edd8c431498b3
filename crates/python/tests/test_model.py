"""The model inside the package: replies, streams, batches, logits, and what is refused."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy
import tilewright
from tilewright import Model, Refusal, SamplingParams

GREEDY = SamplingParams(temperature=0, max_tokens=8)
PROMPT = "Once upon a time"


class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = Model.load(threads=2)

    def test_a_reply_says_what_it_is_and_how_it_ended(self):
        output = self.model.generate(PROMPT, GREEDY)
        self.assertEqual(output.text, ", there was a little girl named Elara")
        self.assertEqual(output.finish_reason, "length")
        self.assertEqual(len(output.token_ids), 8)
        self.assertEqual(output.usage.completion_tokens, 8)
        self.assertEqual(output.usage.total_tokens, output.usage.prompt_tokens + 8)
        self.assertEqual(output.timings.decoded_tokens, 7)
        self.assertGreater(output.timings.decode_tokens_per_sec, 0)
        self.assertIsNone(output.logprobs)

    def test_text_ids_and_stream_give_the_same_reply(self):
        ids = self.model.encode(PROMPT)
        whole = self.model.generate(ids, GREEDY)
        chunks = list(self.model.stream(PROMPT, GREEDY))
        self.assertEqual([id for chunk in chunks for id in chunk.token_ids], whole.token_ids)
        self.assertEqual("".join(chunk.text for chunk in chunks), whole.text)
        self.assertEqual([chunk.finish_reason for chunk in chunks], [None] * (len(chunks) - 1) + ["length"])

    def test_a_seed_gives_the_same_reply_alone_and_in_company(self):
        prompts = [PROMPT, "The little fox", self.model.encode("A dog")]
        params = [SamplingParams(temperature=1, seed=seed, max_tokens=12) for seed in (1, 2, 3)]
        alone = [self.model.generate(prompt, one).token_ids for prompt, one in zip(prompts, params)]
        together = self.model.generate(prompts, params)
        self.assertEqual([output.token_ids for output in together], alone)
        self.assertEqual(self.model.generate([], GREEDY), [])

    def test_stop_strings_end_a_reply_and_are_named(self):
        output = self.model.generate(PROMPT, SamplingParams(temperature=0, max_tokens=40, stop="girl"))
        self.assertEqual((output.finish_reason, output.stop_reason), ("stop", "girl"))
        self.assertEqual(output.text, ", there was a little ")

    def test_log_probabilities_are_of_the_raw_logits(self):
        output = self.model.generate(PROMPT, SamplingParams(temperature=0, max_tokens=2, logprobs=3))
        first = output.logprobs[0]
        row = self.model.logits(PROMPT).numpy().astype("float64")
        row -= numpy.log(numpy.exp(row - row.max()).sum()) + row.max()
        self.assertAlmostEqual(first.chosen, row[output.token_ids[0]], delta=1e-4)
        self.assertEqual([id for id, _ in first.top], list(numpy.argsort(-row)[:3]))

    def test_closing_a_stream_ends_it_and_closing_again_changes_nothing(self):
        with self.model.stream(PROMPT, SamplingParams(ignore_eos=True)) as stream:
            next(stream)
            stream.close()
            stream.close()
            self.assertRaises(StopIteration, next, stream)
        self.assertRaises(ValueError, stream.output)

    def test_a_stream_that_is_dropped_leaves_the_model_free(self):
        for _ in range(5):
            next(self.model.stream(PROMPT, SamplingParams(ignore_eos=True)))
        self.assertEqual(self.model.generate(PROMPT, GREEDY).finish_reason, "length")

    def test_threads_share_a_model(self):
        expected = self.model.generate(PROMPT, GREEDY).token_ids
        found = []
        work = lambda: found.append(self.model.generate(PROMPT, GREEDY).token_ids)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)

    def test_the_interpreter_goes_on_while_the_model_works(self):
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        ids = self.model.encode(PROMPT) * 100
        self.model.logits(ids, every=True)
        stop.set()
        thread.join()
        self.assertGreater(len(ticks), 1)

    def test_chat_goes_through_the_template(self):
        messages = [{"role": "user", "content": "Tell me a story about a dog."}]
        text = self.model.apply_template(messages)
        self.assertIn("Tell me a story about a dog.", text)
        output = self.model.chat(messages, GREEDY)
        self.assertEqual(output.token_ids, self.model.generate(self.model.encode_chat(messages), GREEDY).token_ids)
        self.assertEqual("".join(c.text for c in self.model.stream_chat(messages, GREEDY)), output.text)

    def test_logits_lie_where_the_engine_left_them(self):
        ids = self.model.encode(PROMPT)
        floats = self.model.logits(ids, every=True)
        self.assertEqual(floats.shape, [len(ids), self.model.config["vocab"]])
        array = floats.numpy()
        self.assertEqual((array.dtype, list(array.shape)), (numpy.float32, floats.shape))
        self.assertFalse(array.flags.owndata)
        self.assertFalse(array.flags.writeable)
        again = numpy.asarray(floats)
        self.assertTrue(numpy.shares_memory(array, again))
        view = memoryview(floats)
        self.assertEqual((view.format, view.ndim, view.readonly, view.nbytes), ("f", 2, True, array.nbytes))
        del floats, view
        self.assertEqual(int(array[-1].argmax()), self.model.generate(ids, GREEDY).token_ids[0])
        last = self.model.logits(ids).numpy()
        self.assertTrue((last == array[-1]).all())

    def test_embeddings_have_length_one(self):
        vector = self.model.embed(PROMPT).numpy()
        self.assertEqual(list(vector.shape), [self.model.config["hidden"]])
        self.assertAlmostEqual(float((vector.astype("float64") ** 2).sum()), 1.0, places=5)
        self.assertFalse((vector == self.model.embed(PROMPT, pooling="mean").numpy()).all())
        self.assertRaises(ValueError, self.model.embed, PROMPT, pooling="max")

    def test_scores_are_of_every_token_but_the_first(self):
        ids = self.model.encode("The sun was shining.")
        self.assertEqual(len(self.model.score(ids)), len(ids) - 1)

    def test_the_plan_is_a_dict(self):
        plan = self.model.plan
        json.dumps(plan)
        self.assertEqual((plan["device"], plan["threads"]), ("cpu", 2))
        self.assertIn("cpu", repr(self.model))
        self.assertEqual(self.model.dispatches, 0)
        self.assertTrue(self.model.stop_token_ids)

    def test_the_tokenizer_reads_and_writes(self):
        tokenizer = self.model.tokenizer
        ids = tokenizer.encode("Tom and Lily.")
        self.assertEqual(tokenizer.decode(ids), "Tom and Lily.")
        self.assertEqual(b"".join(map(tokenizer.token_bytes, ids)), b"Tom and Lily.")
        end = tokenizer.eos_id()
        self.assertIn(end, tokenizer.special_ids)
        text = tokenizer.decode([end])
        self.assertEqual(tokenizer.encode(text, parse_special=True), [end])
        self.assertNotEqual(tokenizer.encode(text), [end])
        self.assertEqual(tokenizer.decode([end], skip_special_tokens=True), "")

    def test_a_refusal_says_everything_that_is_wrong(self):
        with self.assertRaises(Refusal) as caught:
            self.model.generate(PROMPT, SamplingParams(top_p=2, min_p=-1))
        refusal = caught.exception
        self.assertEqual(refusal.name, "sampling_invalid")
        self.assertEqual([field.what for field in refusal.fields], ["top_p", "min_p"])
        self.assertIn(str(refusal.code), str(refusal))
        self.assertTrue(refusal.remedy)
        copy = pickle.loads(pickle.dumps(refusal))
        self.assertEqual((copy.code, copy.fields, str(copy)), (refusal.code, refusal.fields, str(refusal)))

    def test_what_cannot_be_honoured_is_refused(self):
        refused = [
            (lambda: Model.load("/nowhere"), "checkpoint_not_found"),
            (lambda: Model.load(weights="int3"), "device_option_invalid"),
            (lambda: Model.load(device="tpu"), "device_option_invalid"),
            (lambda: Model.load(numerics="mlx"), "device_option_invalid"),
            (lambda: Model.load(numerics="llama.cpp"), "device_option_invalid"),
            (lambda: self.model.generate([10**6], GREEDY), "request_invalid"),
            (lambda: self.model.generate(PROMPT, SamplingParams(max_tokens=-1)), "request_invalid"),
            (lambda: self.model.generate(PROMPT, SamplingParams(logprobs=21)), "request_invalid"),
            (lambda: self.model.generate(PROMPT, SamplingParams(max_tokens=10**6)), "context_full"),
            (lambda: self.model.chat([{"role": "king", "content": "x"}]), "message_invalid"),
            (lambda: self.model.chat([{"role": "user", "content": "x", "mood": 1}]), "message_invalid"),
            (lambda: self.model.tokenizer.decode([10**6]), "token_unknown"),
            (lambda: tilewright.load_tokenizer("/nowhere"), "checkpoint_not_found"),
        ]
        for call, name in refused:
            with self.assertRaises(Refusal) as caught:
                call()
            self.assertEqual(caught.exception.name, name)

    def test_other_types_and_names_are_type_errors(self):
        wrong = [
            lambda: SamplingParams(temprature=1),
            lambda: self.model.generate(PROMPT, SamplingParams(temperature="hot")),
            lambda: self.model.generate(PROMPT, SamplingParams(stop_token_ids=["a"])),
            lambda: self.model.generate([1.5], GREEDY),
            lambda: self.model.stream(None),
            lambda: self.model.chat([{"role": "user", "content": object()}]),
            lambda: Model.load(gpu=True),
        ]
        for call in wrong:
            self.assertRaises(TypeError, call)
        loop = []
        loop.append(loop)
        self.assertRaises(ValueError, self.model.chat, [{"role": "user", "content": loop}])


class ProcessTest(unittest.TestCase):
    """What needs a process of its own."""

    def run_code(self, code):
        # Where the tests run in the background of a shell, Ctrl-C is ignored, and a new process inherits that.
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def test_nothing_is_printed(self):
        done = self.run_code(
            """
            import tilewright
            model = tilewright.Model.load()
            model.generate("Once", tilewright.SamplingParams(max_tokens=3))
            try:
                model.generate("Once", tilewright.SamplingParams(top_p=7))
            except tilewright.Refusal:
                pass
            """
        )
        self.assertEqual(done.communicate(), ("", ""))
        self.assertEqual(done.returncode, 0)

    def test_ctrl_c_ends_loading(self):
        done = self.run_code(
            """
            import tilewright
            model = None
            try:
                print("ready", flush=True)
                while True:
                    model = tilewright.Model.load(weights="f32")
            except KeyboardInterrupt:
                print("stopped", flush=True)
            print(tilewright.Model.load().generate("Once", tilewright.SamplingParams(max_tokens=1)).finish_reason)
            """
        )
        self.assertEqual(done.stdout.readline(), "ready\n")
        time.sleep(0.2)
        os.kill(done.pid, signal.SIGINT)
        out, err = done.communicate(timeout=60)
        self.assertEqual((out, err, done.returncode), ("stopped\nlength\n", "", 0))

    def test_ctrl_c_ends_a_prompt(self):
        done = self.run_code(
            """
            import sys, tilewright
            model = tilewright.Model.load(weights="f32", threads=1, prefill_chunk=8)
            ids = model.encode("Once upon a time there was a dog.") * 150
            ids = ids[: model.plan["context"] - 8]
            print("ready", flush=True)
            n = 0
            try:
                while True:
                    list(model.stream(ids, tilewright.SamplingParams(max_tokens=1)))
                    n += 1
            except KeyboardInterrupt:
                print("stopped", flush=True)
            print(model.generate("Once upon a time", tilewright.SamplingParams(temperature=0, max_tokens=2)).finish_reason)
            """
        )
        self.assertEqual(done.stdout.readline(), "ready\n")
        time.sleep(0.2)
        os.kill(done.pid, signal.SIGINT)
        out, err = done.communicate(timeout=60)
        self.assertEqual((out, err, done.returncode), ("stopped\nlength\n", "", 0))


if __name__ == "__main__":
    unittest.main()
