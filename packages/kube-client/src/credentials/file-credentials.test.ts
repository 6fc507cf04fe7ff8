import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ExecCredential } from "./exec-credential.ts";
import { FileCredentials, type FileCredentialsOptions } from "./file-credentials.ts";

const idle = new AbortController().signal;

let folder: string;
let clock: VirtualClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "file-credentials-"));
  clock = new VirtualClock();
});

afterEach(() => rm(folder, { recursive: true }));

function credentials(changes: Partial<FileCredentialsOptions> = {}): FileCredentials {
  return new FileCredentials({ server: "https://k:6443", clock, ...changes });
}

async function file(name: string, text: string): Promise<{ readonly file: string }> {
  await writeFile(join(folder, name), text);
  return { file: join(folder, name) };
}

/** Credentials from a command that hands out this status. */
function executing(status: string): ExecCredential {
  const apiVersion = "client.authentication.k8s.io/v1";
  const args = ["-c", `printf '%s' '{"apiVersion":"${apiVersion}","status":${status}}'`];
  return new ExecCredential({ apiVersion, command: "/bin/sh", args, processEnv: {}, clock });
}

test("the server's address has no slash at its end", () => {
  expect(credentials({ server: "https://k:6443/c1//" }).server).toBe("https://k:6443/c1");
  expect(credentials({ server: "https://k:6443" }).server).toBe("https://k:6443");
});

test("who has nothing to show is nobody", async () => {
  expect((await credentials().current(idle)).authorization).toBeUndefined();
  expect((await credentials({ token: { text: " \n" } }).current(idle)).authorization).toBeUndefined();
});

test("texts are taken as they are, but for the white space around a token", async () => {
  const identity = await credentials({
    ca: { text: "CA\n" },
    certificate: { text: "CERT\n" },
    key: { text: "KEY\n" },
    token: { text: " token\n" },
    serverName: "kubernetes",
    insecureSkipVerify: true,
  }).current(idle);

  expect(identity).toEqual({
    tls: { ca: "CA\n", certificate: "CERT\n", key: "KEY\n", serverName: "kubernetes", insecureSkipVerify: true },
    authorization: "Bearer token",
  });
});

test("a token goes before a user name and password", async () => {
  const basic = { username: "u", password: "p" };

  expect((await credentials({ basic }).current(idle)).authorization).toBe("Basic dTpw");
  expect((await credentials({ basic, token: { text: "t" } }).current(idle)).authorization).toBe("Bearer t");
});

test("what a command hands out goes before texts and files", async () => {
  const texts = { token: { text: "t" }, certificate: { text: "C" }, key: { text: "K" } };
  const given = executing('{"token":"run","clientCertificateData":"CERT","clientKeyData":"KEY"}');

  expect(await credentials({ ...texts, exec: given }).current(idle)).toMatchObject({
    tls: { certificate: "CERT", key: "KEY" },
    authorization: "Bearer run",
  });
  expect(await credentials({ ...texts, exec: executing('{"token":"run"}') }).current(idle)).toMatchObject({
    tls: { certificate: "C", key: "K" },
    authorization: "Bearer run",
  });
});

test("files are read again after a minute, and not before", async () => {
  const token = await file("token", "first");
  const reader = credentials({ token });
  await clock.advance(5_000);
  const first = await reader.current(idle);
  await file("token", "second");

  await clock.advance(59_999);
  expect(await reader.current(idle)).toBe(first);
  await clock.advance(1);

  expect((await reader.current(idle)).authorization).toBe("Bearer second");
});

test.each(["ca", "certificate", "key"] as const)("another %s is another TLS identity, and the same again is none", async (what) => {
  const source = await file(what, "one");
  const reader = credentials({ ca: { text: "CA" }, [what]: source });
  const { tls } = await reader.current(idle);

  await reader.refresh(idle);
  expect((await reader.current(idle)).tls).toBe(tls);
  await file(what, "two");
  await reader.refresh(idle);

  const after = await reader.current(idle);
  expect(after.tls).not.toBe(tls);
  expect(after.tls[what]).toBe("two");
});

test("who asks while the files are read waits for that reading", async () => {
  const reader = credentials({ token: await file("token", "first") });

  const [a, b] = await Promise.all([reader.current(idle), reader.current(idle)]);

  expect(a).toBe(b);
});

test("a file that cannot be read is an error the first time, and later leaves what was read", async () => {
  const token = await file("token", "first");
  const reader = credentials({ token });
  await rm(token.file);
  const error: unknown = await reader.current(idle).catch((thrown: unknown) => thrown);
  expect(error).toSatisfy(isInvalidInput);
  expect(String(error)).toContain(token.file);

  await file("token", "second");
  expect((await reader.current(idle)).authorization).toBe("Bearer second");
  await rm(token.file);
  await reader.refresh(idle);

  expect((await reader.current(idle)).authorization).toBe("Bearer second");
});

test.each(["ca", "certificate", "key", "token"] as const)(
  "an empty file for the %s, which is being replaced, is an error the first time, and later leaves what was read",
  async (what) => {
    const source = await file(what, " \n");
    const reader = credentials({ token: { text: "t" }, [what]: source });
    const error: unknown = await reader.current(idle).catch((thrown: unknown) => thrown);
    expect(error).toSatisfy(isInvalidInput);
    expect(String(error)).toContain(`${source.file} is empty`);

    await file(what, "first");
    const first = await reader.current(idle);
    await file(what, "");
    await reader.refresh(idle);
    expect(await reader.current(idle)).toBe(first);

    await file(what, "second");
    await reader.refresh(idle);
    expect(JSON.stringify(await reader.current(idle))).toContain("second");
  },
);

test("a refresh runs the command again, and its failure is told although there is an older credential", async () => {
  const apiVersion = "client.authentication.k8s.io/v1";
  const args = ["-c", `cat "${folder}/answer"`];
  const exec = new ExecCredential({ apiVersion, command: "/bin/sh", args, processEnv: { PATH: process.env["PATH"] }, clock });
  const reader = credentials({ exec });
  await file("answer", `{"apiVersion":"${apiVersion}","status":{"token":"first"}}`);
  await reader.current(idle);
  await file("answer", `{"apiVersion":"${apiVersion}","status":{"token":"second"}}`);

  await reader.refresh(idle);
  expect((await reader.current(idle)).authorization).toBe("Bearer second");

  await rm(join(folder, "answer"));
  await expect(reader.refresh(idle)).rejects.toThrow("credential command /bin/sh");
});

test("a command's credential is renewed before it expires, however young what was read is", async () => {
  const expires = new Date(clock.now() + 61_000).toISOString();
  const reader = credentials({ exec: executing(`{"token":"t","expirationTimestamp":"${expires}"}`) });
  const first = await reader.current(idle);

  await clock.advance(999);
  expect(await reader.current(idle)).toBe(first);
  await clock.advance(1);

  expect(await reader.current(idle)).not.toBe(first);
});

test("nothing is read for one who has given up, and who gives up while it is read is told so", async () => {
  const reader = credentials({ token: await file("token", "first") });
  await expect(reader.current(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  await reader.current(idle);
  const abort = new AbortController();

  const refreshed = reader.refresh(abort.signal);
  abort.abort(new Error("gave up"));

  await expect(refreshed).rejects.toThrow("gave up");
});
