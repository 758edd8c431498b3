"""A hook of schemathesis: replies stay short, so that many requests can be made, and made-up model names go."""

import schemathesis

#: Tokens of a reply, at most; replies of a request, at most.
TOKENS, CHOICES = 4, 2


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict) and isinstance(body.get("model"), str):
        del body["model"]
    if isinstance(body, dict) and ("messages" in body or "prompt" in body):
        for key in ("max_tokens", "max_completion_tokens"):
            if key in body and type(body[key]) is int and body[key] > 0:
                body[key] = TOKENS
        if "max_tokens" not in body and "max_completion_tokens" not in body:
            body["max_tokens"] = TOKENS
        if type(body.get("n")) is int and body["n"] > CHOICES:
            body["n"] = CHOICES
    return body
