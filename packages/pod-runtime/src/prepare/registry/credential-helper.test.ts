import { VirtualClock } from "@virtual-kubelet/clock";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "@virtual-kubelet/errdefs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { askCredentialHelper } from "./credential-helper.ts";

let folder = "";
let programs = 0;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "credential-helper-"))));
afterAll(() => rm(folder, { recursive: true }));

/** A program consisting of a few lines of shell. */
async function program(script: string): Promise<string> {
  const path = join(folder, `helper-${++programs}`);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o700);
  return path;
}

const ask = async (script: string, signal = new AbortController().signal, clock = new VirtualClock()): Promise<unknown> =>
  askCredentialHelper(await program(script), "registry.example.com", { clock, signal });

describe("askCredentialHelper", () => {
  test("sends the server, and reads name and password", async () => {
    expect(await ask(`read server; echo "{\\"ServerURL\\":\\"$server\\",\\"Username\\":\\"$1\\",\\"Secret\\":\\"$server\\"}"`)).toEqual({
      username: "get",
      password: "registry.example.com",
    });
  });

  test("returns an identity token for the user <token>, and the helper need not read its input", async () => {
    expect(await ask(`echo '{"Username":"<token>","Secret":"abc"}'`)).toEqual({ identityToken: "abc" });
  });

  test("distinguishes missing credentials from failures, and shows no output of the helper", async () => {
    await expect(ask("echo 'credentials not found in native keychain'; exit 1")).rejects.toMatchObject({ code: "VK_NOT_FOUND" });
    const error: unknown = await ask("echo hunter22; echo hunter22 >&2; exit 3").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringMatching(/it ended with 3$/) });
    const malformed: unknown = await ask("echo '{hunter22'").catch((caught: unknown) => caught);
    expect(messageOf(malformed)).toMatch(/expected a JSON object with Username and Secret$/);
  });

  test("reports a missing program", async () => {
    const asked = askCredentialHelper("docker-credential-that-is-not-there", "x", {
      clock: new VirtualClock(),
      signal: AbortSignal.any([]),
    });
    await expect(asked).rejects.toThrow(/the program is not on the PATH$/);
  });

  test("ends when aborted, and kills the program", async () => {
    const abort = new AbortController();
    const asked = ask("exec sleep 600", abort.signal);
    abort.abort(new Error("over"));
    await expect(asked).rejects.toThrow("over");
  });
});

test("a helper that does not answer is killed after half a minute", async () => {
  const clock = new VirtualClock();
  const asked = ask("exec sleep 600", undefined, clock).catch((error: unknown) => error);
  let ended: unknown;
  void asked.then((error) => (ended = error));
  await vi.waitFor(() => expect(clock.pending).toBe(1), 30_000);

  await clock.advance(29_999);
  expect(ended).toBeUndefined();
  await clock.advance(1);

  expect(await asked).toMatchObject({ code: "VK_DEADLINE_EXCEEDED", message: expect.stringContaining("it did not end within 30000 ms") });
});

test("a helper that writes without end is killed", async () => {
  await expect(ask("exec yes")).rejects.toMatchObject({
    code: "VK_UNAVAILABLE",
    message: expect.stringMatching(/it ended with a signal$/),
  });
});

test("a helper may write up to 64 KiB", async () => {
  const secret = "x".repeat(60_000);

  expect(await ask(`printf '{"Username":"u","Secret":"%s"}' ${secret}`)).toEqual({ username: "u", password: secret });
});

test("a helper that writes more than 64 KiB is killed, even if its answer is valid", async () => {
  const answer = `printf '{"Username":"u","Secret":"'; head -c 70000 /dev/zero | tr '\\0' x; echo '"}'; exec sleep 600`;

  await expect(ask(answer)).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringMatching(/it ended with a signal$/) });
});

test("a helper that cannot be executed is an error", async () => {
  const path = await program("true");
  await chmod(path, 0o600);

  await expect(askCredentialHelper(path, "x", { clock: new VirtualClock(), signal: new AbortController().signal })).rejects.toThrow(
    /it did not start \(EACCES\)$/,
  );
});

test.for(["null", "1", `{"Username":"u"}`, `{"Secret":"s"}`, `{"Username":1,"Secret":"s"}`])("the answer %s is invalid", async (answer) => {
  await expect(ask(`echo '${answer}'`)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
});

test("the answer of a helper that has failed is ignored", async () => {
  await expect(ask(`echo '{"Username":"u","Secret":"s"}'; exit 1`)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  await expect(ask("echo 'sorry, credentials not found'; exit 1")).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test("an aborted call starts no program, and a finished call leaves no timer", async () => {
  const clock = new VirtualClock();
  const marker = join(folder, "marker");

  await expect(ask(`touch ${marker}`, AbortSignal.abort(new Error("over")), clock)).rejects.toThrow("over");
  expect(clock.pending).toBe(0);
  await expect(readFile(marker)).rejects.toMatchObject({ code: "ENOENT" });
});
