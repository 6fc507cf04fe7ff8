import { systemClock } from "@virtual-kubelet/clock";
import { readFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runRemoteCommand } from "@virtual-kubelet/streaming";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findKubectl, findKubectls } from "../support/kubectl.ts";
import { forwardedPorts } from "../interop/support/forwarded-ports.ts";
import type { KubectlRunner } from "../interop/support/kubectl-runner.ts";
import { ways } from "../interop/support/ways.ts";
import { StreamsRig } from "./support/streams-rig.ts";

const kubectls = await findKubectls();
const ownKubectl = await findKubectl();
const soon = { timeoutMs: 60_000 };

/** Role and binding in the namespace `default` for a user without other rights. */
function rights(user: string, rules: readonly (readonly [resource: string, verb: string])[]): object[] {
  const metadata = { name: user, namespace: "default" };
  return [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata,
      rules: rules.map(([resource, verb]) => ({ apiGroups: [""], resources: [resource], verbs: [verb] })),
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: user },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    },
  ];
}

let rig: StreamsRig;

beforeAll(async () => {
  rig = await StreamsRig.open([
    ...rights("viewer", [["pods", "get"]]),
    ...rights("onlooker", [
      ["pods", "get"],
      ["pods/exec", "get"],
    ]),
    ...rights("worker", [
      ["pods", "get"],
      ["pods/log", "get"],
      ["pods/exec", "create"],
      ["pods/portforward", "create"],
    ]),
  ]);
  const script = { log: "one\ntwo\nthree" };
  await rig.run("declared", { node: "declared", script });
  await rig.run("plain", { node: "plain", script });
}, 120_000);
afterAll(() => rig[Symbol.asyncDispose]());

/** Forwards a port with kubectl and requests a path over HTTP through it. */
async function askThrough(client: KubectlRunner, pod: string): Promise<string> {
  const { child, output, ended } = client.start("port-forward", pod, ":80");
  const local = (await forwardedPorts(output, 1)).get(80);
  const answer = await fetch(`http://127.0.0.1:${local}/some/where?a=b`, { method: "POST", body: "four" });
  const text = await answer.text();
  child.kill("SIGKILL");
  await ended;
  return text;
}

const answerOf = (pod: string, port: number): string => `pod default/${pod}, port ${port}: the mock provider answers\n`;

/** Copies a folder with a file into the pod and back. */
async function copyThereAndBack(client: KubectlRunner, pod: string, name: string): Promise<void> {
  const folder = join(rig.folder, name);
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 253));
  await mkdir(join(folder, "here/below"), { recursive: true });
  await writeFile(join(folder, "here/below/file"), content);

  expect(await client.run(["cp", join(folder, "here"), `${pod}:/tmp/${name}`])).toMatchObject({ code: 0 });
  expect(await client.run(["exec", pod, "--", "ls", `/tmp/${name}/below`])).toMatchObject({ stdout: "file\n" });
  expect(await client.run(["cp", `${pod}:/tmp/${name}`, join(folder, "back")])).toMatchObject({ code: 0 });
  expect(await readFile(join(folder, "back/below/file"))).toEqual(content);
}

describe("a kubectl of each version", () => {
  test.for(kubectls)("$version prints logs, runs commands, copies and forwards", async ({ program, version }) => {
    const client = await rig.kubectl(program);

    expect(await client.run(["logs", "plain"])).toEqual({ code: 0, stdout: "one\ntwo\nthree\n", stderr: "" });
    expect(await client.run(["exec", "plain", "--", "sh", "-c", "echo said; exit 3"])).toMatchObject({ code: 3, stdout: "said\n" });
    expect(await client.run(["exec", "-i", "declared", "--", "cat"], "typed")).toMatchObject({ code: 0, stdout: "typed" });
    await copyThereAndBack(client, "plain", `copy-${version}`);
    expect(await askThrough(client, "declared")).toBe(`${answerOf("declared", 80)}POST /some/where?a=b, 4 bytes\n`);
  });
});

describe(`kubectl ${ownKubectl.version} logs`, () => {
  let client: KubectlRunner;

  beforeAll(async () => {
    client = await rig.kubectl(ownKubectl.program);
  });

  const options: readonly [string, string | RegExp][] = [
    ["--tail=1", "three\n"],
    ["--tail=0", ""],
    ["--limit-bytes=5", "one\nt"],
    ["--since=1h", "one\ntwo\nthree\n"],
    ["--since-time=2999-01-01T00:00:00Z", ""],
    ["--container=main", "one\ntwo\nthree\n"],
  ];

  test.for(options)("%s limits the output", async ([option, stdout]) => {
    expect(await client.run(["logs", "plain", option])).toEqual({ code: 0, stdout, stderr: "" });
  });

  test("--timestamps prints the time of each line", async () => {
    const { stdout } = await client.run(["logs", "plain", "--timestamps", "--tail=2"]);

    expect(stdout).toMatch(/^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (?:two|three)\n){2}$/);
  });

  test("-f prints new lines until it is interrupted", async () => {
    await rig.run("talks", { node: "plain", script: { log: "still here", "log-every": "100ms" } });
    const { child, output, ended } = client.start("logs", "-f", "talks");
    await eventually(() => expect(output.stdout).toMatch(/^(?:still here\n){5}/), soon);

    child.kill("SIGINT");

    expect((await ended).code).not.toBe(0);
  });

  test("-f ends with the container", async () => {
    await rig.run("ends", { node: "plain", script: { log: "at work", "log-every": "500ms", "exit-after": "3s" } });

    const { code, stdout } = await client.run(["logs", "-f", "ends"]);

    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^(?:at work\n){2,}$/) });
  });

  test("print one container by name, or all containers", async () => {
    const script = { log: "hello" };
    await rig.run("two", { node: "plain", script, containers: ["main", "side"].map((name) => ({ name, image: "busybox" })) });

    expect(await client.run(["logs", "two", "-c", "side"])).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
    expect((await client.run(["logs", "two"])).stderr).toBe('Defaulted container "main" out of: main, side\n');
    // kubectl requests both logs concurrently and prints them as they arrive.
    const { stdout } = await client.run(["logs", "two", "--all-containers", "--prefix"]);
    expect(stdout.split("\n").toSorted()).toEqual(["", "[pod/two/main] hello", "[pod/two/side] hello"]);
    expect((await client.run(["get", "--raw", "/api/v1/namespaces/default/pods/two/log"])).stderr).toBe(
      "Error from server (BadRequest): a container name must be specified for pod two, choose one of: [main side]\n",
    );
  });

  test("that do not exist are refused with the messages of API server and kubelet", async () => {
    expect(await client.run(["logs", "plain", "--previous"])).toEqual({
      code: 1,
      stdout: "",
      stderr: 'Error from server (BadRequest): previous terminated container "main" in pod "plain" not found\n',
    });
    expect(await client.run(["logs", "none"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('(NotFound): pods "none" not found'),
    });
    expect(await client.run(["logs", "plain", "-c", "none"])).toMatchObject({ code: 1, stderr: expect.stringContaining("none") });
  });
});

describe.for(ways)(`kubectl ${ownKubectl.version} over $name`, ({ declared, env, atNode }) => {
  const pod = declared ? "declared" : "plain";
  let client: KubectlRunner;

  beforeAll(async () => {
    client = await rig.kubectl(ownKubectl.program, { env });
  });

  test.for([0, 3, 7])("exits with the command's code %i", async (exitCode) => {
    const { code, stdout, stderr } = await client.run(["exec", pod, "--", "sh", "-c", `echo out; echo err >&2; exit ${exitCode}`]);

    const told = exitCode === 0 ? "" : `command terminated with exit code ${exitCode}\n`;
    expect({ code, stdout, stderr }).toEqual({ code: exitCode, stdout: "out\n", stderr: `err\n${told}` });
  });

  test("the command sees the end of the input, and its output continues", async () => {
    const ended = await client.run(["exec", "-i", pod, "--", "sh", "-c", "cat; sleep 0.2; echo behind it"], "typed\n");

    expect(ended).toEqual({ code: 0, stdout: "typed\nbehind it\n", stderr: "" });
  });

  test("a missing container is reported", async () => {
    const { code, stderr } = await client.run(["exec", pod, "-c", "none", "--", "true"]);

    expect(code).toBe(1);
    expect(stderr).toContain("none");
  });

  test("cp copies a folder into the container and back", async () => {
    await copyThereAndBack(client, pod, `copy-${atNode}-${declared}`);
  });

  test("attach shows the container's input and output until it ends", async () => {
    const name = `attached-${atNode}-${declared}`;
    const containers = [{ name: "main", image: "busybox", stdin: true }];
    await rig.run(name, { node: pod, containers });
    const { child, output, ended } = client.start("attach", "-i", name);
    child.stdin?.write("first\n");

    await eventually(() => expect(output.stdout).toContain("first\n"), soon);
    child.stdin?.end("last\n");

    await eventually(() => expect(output.stdout).toBe("first\nlast\n"), soon);
    await client.run(["delete", "pod", name, "--wait=false"]);
    expect(await ended).toMatchObject({ code: 0 });
  });

  test("port-forward serves two ports, and reports why a third cannot be reached", async () => {
    const { child, output, ended } = client.start("port-forward", pod, ":80", ":8080", ":81");
    const ports = await forwardedPorts(output, 3);
    const ask = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${ports.get(port)}/`)).text();

    for (const port of [80, 8080]) expect(await ask(port)).toBe(`${answerOf(pod, port)}GET /, 0 bytes\n`);
    await expect(ask(81)).rejects.toThrow("fetch failed");

    await eventually(() => expect(output.stderr).toMatch(/error forwarding port 81 to pod .*connection refused/), soon);
    child.kill("SIGKILL");
    await ended;
  });

  test(`the API server connects to the node by ${atNode}`, async () => {
    const before = { exec: rig.webSockets(pod, "exec"), portforward: rig.webSockets(pod, "portforward") };

    await client.run(["exec", pod, "--", "true"]);
    await askThrough(client, pod);

    const more = atNode === "websocket" ? 1 : 0;
    const after = { exec: rig.webSockets(pod, "exec"), portforward: rig.webSockets(pod, "portforward") };
    expect(after).toEqual({ exec: before.exec + more, portforward: before.portforward + more });
  });
});

describe(`kubectl ${ownKubectl.version} debug`, () => {
  test("adds a container to a running pod; exec, attach and logs work in it", async () => {
    await rig.run("debugged", { node: "plain", script: { log: "one" } });
    const client = await rig.kubectl(ownKubectl.program);

    const words = ["debug", "debugged", "--image=busybox", "--container=extra", "--stdin", "--attach=false"];
    expect(await client.run(words)).toMatchObject({ code: 0 });

    await eventually(
      async () => expect(await client.run(["exec", "debugged", "-c", "extra", "--", "echo", "in it"])).toMatchObject({ stdout: "in it\n" }),
      soon,
    );
    expect(await client.run(["logs", "debugged", "-c", "extra"])).toMatchObject({ code: 0 });
    const { child, output, ended } = client.start("attach", "-i", "debugged", "-c", "extra");
    child.stdin?.write("typed\n");
    await eventually(() => expect(output.stdout).toContain("typed\n"), soon);
    await client.run(["delete", "pod", "debugged", "--wait=false"]);
    expect(await ended).toMatchObject({ code: 0 });
  });
});

describe(`kubectl ${ownKubectl.version} and the node's paths`, () => {
  test("get --raw reads the node's paths", async () => {
    const client = await rig.kubectl(ownKubectl.program);
    const raw = (path: string): ReturnType<KubectlRunner["run"]> => client.run(["get", "--raw", `/api/v1/nodes/plain/proxy${path}`]);

    expect(await raw("/healthz")).toMatchObject({ code: 0, stdout: "ok" });
    expect((await raw("/metrics")).stdout).toContain("own 1\n");
    expect(JSON.parse((await raw("/stats/summary?only_cpu_and_memory=true")).stdout)).toMatchObject({ node: { nodeName: "plain" } });
    expect((await raw("/containerLogs/default/plain/main?tailLines=1")).stdout).toBe("three\n");
    expect(await raw("/nowhere")).toMatchObject({ code: 1, stderr: expect.stringContaining("(NotFound)") });
  });
});

describe(`kubectl ${ownKubectl.version} of a user with few rights`, () => {
  const as = (user: string): Promise<KubectlRunner> => rig.kubectl(ownKubectl.program, { user });

  test("can do what its role allows", async () => {
    const client = await as("worker");

    expect(await client.run(["logs", "plain", "--tail=1"])).toMatchObject({ code: 0, stdout: "three\n" });
    expect(await client.run(["exec", "declared", "--", "echo", "done"])).toMatchObject({ code: 0, stdout: "done\n" });
    expect(await askThrough(client, "plain")).toContain(answerOf("plain", 80));
  });

  test("is refused everything else", async () => {
    const client = await as("viewer");
    const refusals: readonly [readonly string[], string][] = [
      [["logs", "plain"], 'cannot get resource "pods/log" in API group "" in the namespace "default"'],
      [["exec", "plain", "--", "true"], 'cannot create resource "pods/exec" in API group "" in the namespace "default"'],
      [["attach", "plain"], 'cannot create resource "pods/attach" in API group "" in the namespace "default"'],
      [["port-forward", "plain", ":80"], 'cannot create resource "pods/portforward" in API group "" in the namespace "default"'],
    ];

    for (const [words, text] of refusals) {
      const { code, stderr } = await client.run(words);
      expect(code).toBe(1);
      expect(stderr).toContain(`pods "plain" is forbidden: User "viewer" ${text}`);
    }
    expect((await client.run(["get", "--raw", "/api/v1/nodes/plain/proxy/healthz"])).stderr).toContain(
      'nodes "plain" is forbidden: User "viewer" cannot get resource "nodes/proxy" in API group "" at the cluster scope',
    );
  });

  test("is refused a command by WebSocket if it may only get pods/exec", async () => {
    const path = "/api/v1/namespaces/default/pods/plain/exec?command=true&stdout=true";
    const running = runRemoteCommand(rig.target(path, "onlooker"), { transport: "websocket", clock: systemClock });

    await expect(running).rejects.toMatchObject({
      statusCode: 403,
      body: expect.stringContaining('pods \\"plain\\" is forbidden: User \\"onlooker\\" cannot create resource \\"pods/exec\\"'),
    });
    expect((await (await as("onlooker")).run(["exec", "plain", "--", "true"])).stderr).toContain(
      'User "onlooker" cannot create resource "pods/exec"',
    );
  });
});
