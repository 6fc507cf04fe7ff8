import { inspect } from "node:util";
import { isUnsupported, messageOf, UnsupportedError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { redactError } from "./redact-error.ts";

const secret = 'pass"word';

test("an error that shows no secret stays the same object", () => {
  const error = Object.assign(new Error("no room", { cause: new Error("quota") }), { response: { status: 429 } });

  expect(redactError(error, [secret])).toBe(error);
  expect(redactError(error, [])).toBe(error);
});

test.each([
  ["as it is", secret],
  ["in base64", Buffer.from(secret).toString("base64")],
  ["as JSON writes it", JSON.stringify({ env: secret })],
])("a secret %s is replaced in message, stack and causes", (_, shown) => {
  const error = new Error(`create container: ${shown}`, { cause: new Error(`body ${shown}`) });

  const redacted = redactError(error, [secret]);

  expect(messageOf(redacted)).toMatch(/^create container: .*\[redacted\].*: body .*\[redacted\]/);
  expect(inspect(redacted, { depth: 10, showHidden: true })).not.toContain("word");
  expect(error.message).toContain(shown);
});

test("what hangs on the error goes as a whole where it shows a secret", () => {
  const error = Object.assign(new Error("failed"), { body: { env: [secret] }, status: { code: 500 }, line: `TOKEN=${secret}` });

  expect(redactError(error, [secret])).toMatchObject({ body: "[redacted]", status: { code: 500 }, line: "TOKEN=[redacted]" });
});

test("the error stays what it is", () => {
  const error = new UnsupportedError(`no ${secret}`, { fieldPath: "spec.x" });

  const redacted = redactError(error, [secret]);

  expect(redacted).toBeInstanceOf(UnsupportedError);
  expect(isUnsupported(redacted)).toBe(true);
  expect(redacted).toMatchObject({ fieldPath: "spec.x", message: "no [redacted]" });
});

test("errors of an AggregateError are looked into", () => {
  const error = new AggregateError([new Error(secret), new Error("fine")], "both");

  const redacted = redactError(error, [secret]) as AggregateError;

  expect(redacted.errors.map(messageOf)).toEqual(["[redacted]", "fine"]);
});

test("values too short to tell from other words are left", () => {
  const error = new Error("port 8080 is taken");

  expect(redactError(error, ["8080"])).toBe(error);
});

test("a text is redacted, too, and a loop of causes has an end", () => {
  const loop = new Error(secret);
  loop.cause = loop;

  expect(redactError(`x ${secret}`, [secret])).toBe("x [redacted]");
  expect(messageOf(redactError(loop, [secret]))).not.toContain(secret);
});

test.each([
  ["as JSON writes it", JSON.stringify({ env: secret })],
  ["twice", `${secret} and ${secret}`],
])("a secret that stands in a property %s goes", (_, shown) => {
  expect(redactError(Object.assign(new Error("failed"), { body: { shown } }), [secret])).toMatchObject({ body: "[redacted]" });
});

test("one secret alone is looked for, and so is each of several, the longest first", () => {
  expect(messageOf(redactError(new Error("tell hunter22"), ["hunter22"]))).toBe("tell [redacted]");
  expect(messageOf(redactError(new Error("tell hunter22-and-more or hunter22"), ["hunter22", "hunter22-and-more"]))).toBe(
    "tell [redacted] or [redacted]",
  );
});

test("a secret of six characters is looked for, one of five is not", () => {
  expect(messageOf(redactError(new Error("sixsix fives"), ["sixsix", "fives"]))).toBe("[redacted] fives");
});

test("what has nothing in it stays the same object, also beside what has", () => {
  const fine = { status: 500 };
  const redacted = redactError(Object.assign(new Error(secret), { fine, code: 7, none: null, unsaid: undefined }), [secret]) as Error & {
    fine: unknown;
  };

  expect(redacted.fine).toBe(fine);
  expect(redacted).toMatchObject({ code: 7, none: null, unsaid: undefined });
});

test("what cannot be written as JSON goes as a whole", () => {
  const loop: { self?: unknown } = {};
  loop.self = loop;

  expect(redactError(Object.assign(new Error("failed"), { loop }), [secret])).toMatchObject({ loop: "[redacted]" });
});

test("a replaced property is as writable, and as visible, as any error's", () => {
  const redacted = redactError(Object.assign(new Error(secret), { line: secret }), [secret]) as Error & { line: string };

  redacted.message = "other";
  expect(redacted.message).toBe("other");
  expect(Object.keys(redacted)).toEqual(["line"]);
});

test("an AggregateError whose errors show nothing stays the same object", () => {
  const error = new AggregateError([new Error("fine"), "fine, too"], "both");

  expect(redactError(error, [secret])).toBe(error);
});

test("what only ends as a secret does is none", () => {
  const body = { note: 'bass"word', plain: "xunter22" };
  const error = Object.assign(new Error("failed"), { body });

  expect(redactError(error, [secret, "hunter22"])).toBe(error);
});
