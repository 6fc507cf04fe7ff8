import { VirtualClock } from "@virtual-kubelet/clock";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInvalidInput, isUnauthorized } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ExecCredential, type ExecCredentialOptions } from "./exec-credential.ts";

const apiVersion = "client.authentication.k8s.io/v1";

let folder: string;
let clock: VirtualClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "exec-credential-"));
  clock = new VirtualClock();
});

afterEach(() => rm(folder, { recursive: true }));

/** Writes a shell script. */
async function script(lines: string): Promise<string> {
  const file = join(folder, "login");
  await writeFile(file, `#!/bin/sh\n${lines}\n`);
  await chmod(file, 0o755);
  return file;
}

function credential(command: string, changes: Partial<ExecCredentialOptions> = {}): ExecCredential {
  return new ExecCredential({ apiVersion, command, processEnv: { PATH: process.env["PATH"] }, clock, ...changes });
}

/** A command that prints this status, in which `$N` counts its runs. */
async function printing(status: string, changes: Partial<ExecCredentialOptions> = {}): Promise<ExecCredential> {
  const answer = `{"apiVersion":"${changes.apiVersion ?? apiVersion}","kind":"ExecCredential","status":${status}}`;
  return credential(
    await script(`echo x >> "${folder}/runs"\nN=$(wc -l < "${folder}/runs" | tr -d ' ')\ncat <<END\n${answer}\nEND`),
    changes,
  );
}

describe("a credential command", () => {
  test("is due before its first run, and not after it if what it handed out does not expire", async () => {
    const exec = await printing('{"token":"run-$N"}');
    expect(exec.isDue).toBe(true);

    expect(await exec.current()).toEqual({ token: "run-1", certificate: undefined, key: undefined });

    await clock.advance(365 * 24 * 3_600_000);
    expect(exec.isDue).toBe(false);
    expect((await exec.current()).token).toBe("run-1");
  });

  test("is due a minute before what it handed out expires", async () => {
    const exec = await printing(`{"token":"run-$N","expirationTimestamp":"${new Date(clock.now() + 600_000).toISOString()}"}`);
    await exec.current();

    await clock.advance(540_000 - 1);
    expect(exec.isDue).toBe(false);
    await clock.advance(1);

    expect(exec.isDue).toBe(true);
    expect((await exec.current()).token).toBe("run-2");
  });

  test("is due when its credential was refused", async () => {
    const exec = await printing('{"token":"run-$N"}');
    await exec.current();

    exec.expire();

    expect(exec.isDue).toBe(true);
    expect((await exec.current()).token).toBe("run-2");
  });

  test.each([apiVersion, "client.authentication.k8s.io/v1beta1"])("may speak %s", async (version) => {
    expect((await (await printing('{"token":"t"}', { apiVersion: version })).current()).token).toBe("t");
  });

  test.each(["client.authentication.k8s.io/v1alpha1", "v1", ""])("of the version %j is refused", (version) => {
    const make = (): unknown => credential("login", { apiVersion: version });

    expect(make).toThrow(`"${version}" is not known, expected client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1`);
    expect(make).toThrow(expect.toSatisfy(isInvalidInput));
  });

  test("that only asks when it can is run without a terminal; one that always asks is refused", async () => {
    expect((await (await printing('{"token":"t"}', { interactiveMode: "IfAvailable" })).current()).token).toBe("t");
    expect(() => credential("login", { interactiveMode: "Always" })).toThrow("login needs a terminal");
  });

  test("gets its arguments, the process's environment, and its own variables before those", async () => {
    const file = await script(`printf '{"apiVersion":"${apiVersion}","status":{"token":"%s"}}' "$1 $2 $FROM_PROCESS $OF_BOTH $OF_ITS_OWN"`);
    const exec = credential(file, {
      args: ["get", "token"],
      env: [
        { name: "OF_BOTH", value: "own" },
        { name: "OF_ITS_OWN", value: "too" },
      ],
      processEnv: { PATH: process.env["PATH"], FROM_PROCESS: "process", OF_BOTH: "process" },
    });

    expect((await exec.current()).token).toBe("get token process own too");
  });

  test("is told that nobody can be asked, and of the cluster if there is one to tell of", async () => {
    const file = await script(
      `printf '{"apiVersion":"${apiVersion}","status":{"token":"%s"}}' "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d '[:space:]')"`,
    );
    const told = async (changes: Partial<ExecCredentialOptions>): Promise<unknown> =>
      JSON.parse(Buffer.from((await credential(file, changes).current()).token ?? "", "base64").toString());
    const info = { apiVersion, kind: "ExecCredential" };

    expect(await told({})).toEqual({ ...info, spec: { interactive: false } });
    expect(await told({ cluster: { server: "https://k" } })).toEqual({
      ...info,
      spec: { interactive: false, cluster: { server: "https://k" } },
    });
  });

  test("reads the end of its input at once", async () => {
    expect(
      (await credential(await script(`cat > /dev/null\nprintf '{"apiVersion":"${apiVersion}","status":{"token":"t"}}'`)).current()).token,
    ).toBe("t");
  });
});

describe("a credential command's answer", () => {
  const answerTo = async (output: string): Promise<unknown> =>
    credential(await script(`cat <<'END'\n${output}\nEND`))
      .current()
      .catch((error: unknown) => error);

  test("may be a certificate with its key", async () => {
    const exec = await printing('{"clientCertificateData":"CERT","clientKeyData":"KEY"}');

    expect(await exec.current()).toEqual({ token: undefined, certificate: "CERT", key: "KEY" });
  });

  test.each(["{}", '{"token":""}', '{"clientCertificateData":"CERT"}', '{"clientKeyData":"KEY"}'])("%s is not enough", async (status) => {
    const error = await answerTo(`{"apiVersion":"${apiVersion}","status":${status}}`);

    expect(error).toSatisfy(isUnauthorized);
    expect(String(error)).toContain("neither a token nor a client certificate with its key");
  });

  test("without a status is not enough", async () => {
    expect(String(await answerTo(`{"apiVersion":"${apiVersion}"}`))).toContain("neither a token nor a client certificate");
  });

  test("in another version than was asked for is refused", async () => {
    const error = await answerTo('{"apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t"}}');

    expect(error).toSatisfy(isUnauthorized);
    expect(String(error)).toContain(`it answered in client.authentication.k8s.io/v1beta1, expected ${apiVersion}`);
  });

  test("that is no JSON is refused without a word of it", async () => {
    const error = await answerTo("token: hidden");

    expect(error).toSatisfy(isUnauthorized);
    expect(String(error)).toContain("its output is not JSON");
    expect(String(error)).not.toContain("hidden");
  });
});

describe("a credential command that fails", () => {
  const failureOf = (exec: ExecCredential): Promise<unknown> => exec.current().catch((error: unknown) => error);

  test("is quoted with the first 500 characters of what it complained of", async () => {
    const file = await script(`printf '  no such user %s\\n' ${"x".repeat(600)} >&2\nexit 3`);

    const error = await failureOf(credential(file));

    expect(error).toSatisfy(isUnauthorized);
    expect(error).toMatchObject({ message: `credential command ${file}: no such user ${"x".repeat(487)}` });
  });

  test("in silence is named with how it ended", async () => {
    const file = await script("exit 3");

    expect(String(await failureOf(credential(file)))).toContain(`credential command ${file}: Command failed`);
  });

  test("that is not there is named, with a hint if there is one", async () => {
    const file = join(folder, "absent");

    expect(await failureOf(credential(file))).toMatchObject({ message: `credential command ${file}: not found` });
    expect(await failureOf(credential(file, { installHint: " run this\n" }))).toMatchObject({
      message: `credential command ${file}: not found; run this`,
    });
  });

  test("is asked again the next time", async () => {
    const exec = credential(
      await script(
        `[ -e "${folder}/once" ] || { touch "${folder}/once"; exit 1; }\nprintf '{"apiVersion":"${apiVersion}","status":{"token":"t"}}'`,
      ),
    );
    expect(await failureOf(exec)).toSatisfy(isUnauthorized);

    expect((await exec.current()).token).toBe("t");
  });
});
