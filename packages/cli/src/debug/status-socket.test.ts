import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStatusSocket } from "./status-socket.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "vk-status-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

function openIn(directory: string, nodeName = "vk-1"): Promise<AsyncDisposable> {
  return openStatusSocket({ nodeName, directory, answer: ({ path }) => ({ status: 200, body: path }), now: () => Date.now() });
}

async function ask(socketPath: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get({ socketPath, path: "/x" }, resolve).on("error", reject);
  return (await (await promise).toArray()).join("");
}

test("a socket answers, only its user may open it, and it goes with the program", async () => {
  const directory = join(await makeFolder(), "pki");
  const socket = await openIn(directory);
  const [name = "", ...others] = await readdir(directory);

  expect(others).toEqual([]);
  expect(name).toMatch(/^vk-1\.status\.[\da-f-]+$/);
  expect(await ask(join(directory, name))).toBe("/x");
  expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  await socket[Symbol.asyncDispose]();

  expect(await readdir(directory)).toEqual([]);
});

test("programs of one folder have a socket each", async () => {
  const directory = await makeFolder();
  await using _first = await openIn(directory);
  await using _second = await openIn(directory);
  await using _other = await openIn(directory, "vk-2");

  const names = await readdir(directory);

  expect(names).toHaveLength(3);
  expect(await Promise.all(names.map((name) => ask(join(directory, name))))).toEqual(["/x", "/x", "/x"]);
});

test("sockets and folders of killed programs are removed, others stay", async () => {
  const directory = await makeFolder();
  const dead = join(directory, "vk-1.status.0123-abcd");
  const child = spawn(process.execPath, ["-e", `require("net").createServer().listen(${JSON.stringify(dead)}, () => console.log("up"))`]);
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
  const unfinished = join(directory, ".vk-1.status.4567-abcd");
  await mkdir(unfinished);
  await utimes(unfinished, 1, 1);
  await mkdir(join(directory, ".vk-1.status.89ab-cdef"));
  await writeFile(join(directory, "kubelet.key"), "");

  await using _socket = await openIn(directory);

  const names = await readdir(directory);
  expect(names.toSorted()).toEqual([".vk-1.status.89ab-cdef", "kubelet.key", expect.stringMatching(/^vk-1\.status\.(?!0123)/)]);
});

test("a folder whose path is too long for a socket works", async () => {
  const directory = join(await makeFolder(), "x".repeat(120));
  await using _socket = await openIn(directory, "n".repeat(200));

  const [name = ""] = await readdir(directory);

  expect(name).toMatch(/^[\da-f]{40}\.status\./);
});

test("a folder that cannot be made is an error", async () => {
  const file = join(await makeFolder(), "file");
  await writeFile(file, "");

  await expect(openIn(join(file, "pki"))).rejects.toThrow("EEXIST");
});
