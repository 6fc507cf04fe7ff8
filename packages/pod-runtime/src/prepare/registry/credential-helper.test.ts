import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "@virtual-kubelet/errdefs";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askCredentialHelper } from "./credential-helper.ts";

let folder = "";
let programs = 0;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "credential-helper-"))));
afterAll(() => rm(folder, { recursive: true }));

/** A program of a few lines of shell. */
async function program(script: string): Promise<string> {
  const path = join(folder, `helper-${++programs}`);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o700);
  return path;
}

const ask = async (script: string, signal = new AbortController().signal, clock = new FakeClock()): Promise<unknown> =>
  askCredentialHelper(await program(script), "registry.example.com", { clock, signal });

describe("askCredentialHelper", () => {
  test("asks for the server, and reads name and password", async () => {
    expect(await ask(`read server; echo "{\\"ServerURL\\":\\"$server\\",\\"Username\\":\\"$1\\",\\"Secret\\":\\"$server\\"}"`)).toEqual({
      username: "get",
      password: "registry.example.com",
    });
  });

  test("takes the user <token> for an identity token, and needs not be read by the helper", async () => {
    expect(await ask(`echo '{"Username":"<token>","Secret":"abc"}'`)).toEqual({ identityToken: "abc" });
  });

  test("tells apart that there are none, and shows nothing of what was written", async () => {
    await expect(ask("echo 'credentials not found in native keychain'; exit 1")).rejects.toMatchObject({ code: "VK_NOT_FOUND" });
    const error: unknown = await ask("echo hunter22; echo hunter22 >&2; exit 3").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringMatching(/it ended with 3$/) });
    const malformed: unknown = await ask("echo '{hunter22'").catch((caught: unknown) => caught);
    expect(messageOf(malformed)).toMatch(/expected a JSON object with Username and Secret$/);
  });

  test("says so if there is no such program", async () => {
    const asked = askCredentialHelper("docker-credential-that-is-not-there", "x", { clock: new FakeClock(), signal: AbortSignal.any([]) });
    await expect(asked).rejects.toThrow(/there is no such program on the path$/);
  });

  test("ends with its signal, and the program with it", async () => {
    const abort = new AbortController();
    const asked = ask("exec sleep 600", abort.signal);
    abort.abort(new Error("over"));
    await expect(asked).rejects.toThrow("over");
  });
});
