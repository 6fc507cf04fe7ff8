import { expect, test } from "vitest";
import type { RemoteCommandResult } from "./result.ts";
import { fromStatusText, toStatus } from "./status.ts";

test("a success is encoded as a status", () => {
  expect(toStatus({ exitCode: 0 })).toEqual({ metadata: {}, status: "Success" });
});

test("an exit code appears in the cause and in the message", () => {
  expect(toStatus({ exitCode: 7 })).toEqual({
    metadata: {},
    status: "Failure",
    reason: "NonZeroExitCode",
    message: "command terminated with non-zero exit code: exit status 7",
    details: { causes: [{ reason: "ExitCode", message: "7" }] },
  });
});

test("a failure to run is an internal error", () => {
  expect(toStatus({ error: "error executing command in container: no such file" })).toEqual({
    metadata: {},
    status: "Failure",
    reason: "InternalError",
    code: 500,
    message: "Internal error occurred: error executing command in container: no such file",
  });
});

test.each([-1, 256, 1.5e9, Number.NaN])("the exit code %d, which is not a byte, is sent as 255 and never as success", (exitCode) => {
  expect(fromStatusText(JSON.stringify(toStatus({ exitCode })))).toMatchObject({ exitCode: 255 });
});

test.each<RemoteCommandResult>([{ exitCode: 0 }, { exitCode: 3 }, { exitCode: 255 }])(
  "the result %j is the same after encoding and decoding",
  (result) => {
    expect(fromStatusText(JSON.stringify(toStatus(result)))).toMatchObject(result);
  },
);

test("a received status is passed on unchanged", () => {
  const status = { metadata: {}, status: "Failure", reason: "InternalError", message: "why", code: 500, details: { causes: [] } } as const;
  const result = fromStatusText(JSON.stringify(status));

  expect(result).toEqual({ error: "why", status });
  expect(toStatus(result)).toEqual(status);
});

test("an empty text is a success", () => {
  expect(fromStatusText("")).toEqual({ exitCode: 0 });
});

test.each([
  "no JSON",
  "[]",
  '{"status":"Perhaps"}',
  '{"status":"Failure","reason":"NonZeroExitCode","message":"x","details":{"causes":[{"reason":"ExitCode","message":"256"}]}}',
  '{"status":"Failure","reason":"NonZeroExitCode"}',
])("text that is not a status, such as %s, is a failure", (text) => {
  expect(fromStatusText(text)).toMatchObject({ error: expect.stringMatching(/^error stream protocol error: /) });
});
