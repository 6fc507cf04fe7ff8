import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseFlags } from "../command-line/flag-parser.ts";
import { testContext } from "../test-support/test-context.ts";
import { joinOptionsOf, type JoinOptions } from "./join-options.ts";

const token = "abcdef.0123456789abcdef";
const pin = `sha256:${"a".repeat(64)}`;
const pinned = `10.0.0.1:6443 --token ${token} --discovery-token-ca-cert-hash ${pin}`;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-join-options-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function options(line: string, env: Readonly<Record<string, string>> = {}): Promise<JoinOptions> {
  const words = line.split(" ").filter(Boolean);
  return await joinOptionsOf(parseFlags("join", words), testContext(new VirtualClock(), { env, cwd: folder, homeDir: "/home/me" }));
}

test("kubeadm's command line works with the program's name", async () => {
  expect(await options(`${pinned} --nodename vk-1`)).toEqual({
    nodeName: "vk-1",
    directory: "/home/me/.local/state/virtual-kubelet/vk-1/pki",
    isDirectoryChosen: false,
    kubeconfig: "/home/me/.local/state/virtual-kubelet/vk-1/pki/kubeconfig",
    discovery: { kind: "token", server: "https://10.0.0.1:6443", token: { id: "abcdef", secret: "0123456789abcdef" }, pins: [pin] },
    timeoutMs: 300_000,
    force: false,
  });
});

test.for<[endpoint: string, server: string]>([
  ["10.0.0.1:6443", "https://10.0.0.1:6443"],
  ["api.example.com", "https://api.example.com:6443"],
  ["https://api.example.com:443/", "https://api.example.com"],
  ["[::1]:8443", "https://[::1]:8443"],
])("%s is the server %s", async ([endpoint, server]) => {
  expect((await options(pinned.replace("10.0.0.1:6443", endpoint))).discovery).toMatchObject({ server });
});

test.for(["http://10.0.0.1:6443", "10.0.0.1:6443/path", "user@10.0.0.1", ":6443", "10.0.0.1:port"])("%s is no server", async (endpoint) => {
  await expect(options(pinned.replace("10.0.0.1:6443", endpoint))).rejects.toThrow("expected the API server's HOST:PORT");
});

test("several hashes may be given, by several flags or separated by commas", async () => {
  const [b, c] = [`sha256:${"b".repeat(64)}`, `sha256:${"c".repeat(64)}`];

  const { discovery } = await options(`${pinned},${b} --discovery-token-ca-cert-hash ${c}`);

  expect(discovery).toMatchObject({ pins: [pin, b, c] });
});

test("node and folder come from the variables that run reads, too", async () => {
  const env = { VKUBELET_NODENAME: "vk-2", VKUBELET_CERT_DIR: "certs" };

  expect(await options(pinned, env)).toMatchObject({ nodeName: "vk-2", directory: join(folder, "certs"), isDirectoryChosen: true });
});

test("the token may be in a file", async () => {
  await writeFile(join(folder, "token"), `${token}\n`);

  const { discovery } = await options(`10.0.0.1 --token-file token --discovery-token-unsafe-skip-ca-verification`);

  expect(discovery).toMatchObject({ token: { id: "abcdef", secret: "0123456789abcdef" }, pins: [] });
});

test("a kubeconfig needs neither HOST:PORT nor a token", async () => {
  expect((await options("--discovery-file k")).discovery).toEqual({ kind: "file", file: join(folder, "k"), token: undefined });
});

test.for([
  ["", "join: expected one way to find the cluster"],
  [`10.0.0.1 --discovery-file k`, "join: expected one way to find the cluster"],
  [`${pinned} --certificate-authority ca.crt`, "join: expected one way to find the cluster"],
  [`10.0.0.1 --token ${token}`, "--discovery-token-ca-cert-hash: missing: without it anybody who knows the token"],
  ["10.0.0.1 --certificate-authority ca.crt", "--token: missing"],
  [`${pinned}0`, `--discovery-token-ca-cert-hash: "${pin}0": expected sha256: and 64 hexadecimal digits`],
  [`${pinned} --token-file t`, "--token, --token-file: expected only one of them"],
  ["10.0.0.1 --token-file none --certificate-authority c", '--token-file: "none": not there, expected a readable file'],
  [`${pinned} --nodename VK`, '--nodename: "VK": expected lower-case letters'],
  [`${pinned} --timeout 0s`, '--timeout: "0s": expected a duration above 0'],
] as const)("%j is refused with the setting and the remedy", async ([line, message]) => {
  await expect(options(line)).rejects.toThrow(message);
});

test("a malformed token is not shown, since it may be a secret with a mistake", async () => {
  const error: unknown = await options(pinned.replace(token, "abcdef.fedcba98765432ZZ")).catch((thrown: unknown) => thrown);

  expect(String(error)).toContain("--token: expected a bootstrap token");
  expect(String(error)).not.toContain("fedcba");
});
