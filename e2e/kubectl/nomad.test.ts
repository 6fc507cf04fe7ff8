import type { Container, Pod } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KubectlRunner } from "../interop/support/kubectl-runner.ts";
import { openNomad, type NomadBackend } from "../nomad/backend.ts";
import { findKubectl } from "../support/kubectl.ts";
import { Program } from "../support/program.ts";

type Spec = NonNullable<Pod["spec"]>;

// A complete scenario with kubectl: the embedded API server, the program, and Nomad, which is the fake or with E2E_NOMAD=real an agent.
const kubectlHere = await findKubectl();
const nodeName = `nomad-${process.pid}`;
const secret = "canary-of-the-walk";
const soon = { timeoutMs: 120_000, intervalMs: 200 };

describe(`kubectl ${kubectlHere.version} with pods in Nomad`, { timeout: 300_000 }, () => {
  let nomad: NomadBackend;
  let server: ApiServer;
  let folder: string;
  let program: Program;
  let kubectl: KubectlRunner;

  beforeAll(async () => {
    nomad = await openNomad();
    folder = await mkdtemp(join(tmpdir(), "vk-nomad-"));
    server = await startApiServer();
    await server.writeKubeconfig(join(folder, "kubeconfig"));
    const providerConfig = {
      driver: "raw_exec",
      purgeAfter: "1s",
      defaultCpu: "10m",
      defaultMemory: "32Mi",
      restart: { attempts: 10, interval: "5m", delay: "1s" },
    };
    const settings = {
      apiVersion: "virtual-kubelet.io/v1alpha1",
      kind: "VirtualKubelet",
      kubelet: { address: "127.0.0.1" },
      nodes: [{ name: nodeName, provider: "nomad", providerConfig, kubeletPort: await freePort() }],
    };
    await writeFile(join(folder, "config.json"), JSON.stringify(settings));
    kubectl = new KubectlRunner({
      program: kubectlHere.program,
      kubeconfig: join(folder, "kubeconfig"),
      directory: folder,
      namespace: "default",
    });
    program = start();
    await nodeIsReady();
  }, 180_000);
  afterAll(async () => {
    await program.end("SIGTERM");
    await server.close();
    for (const id of await ownJobs()) await nomad.request("DELETE", `/job/${id}?purge=true`);
    await nomad[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  }, 60_000);

  test("the node has the resources of Nomad's clients", async () => {
    const node = JSON.parse(await run("get", "node", nodeName, "-o", "json")) as {
      status: { capacity: Record<string, string>; nodeInfo: object };
    };

    expect(node.status.capacity["cpu"]).toMatch(/^\d/);
    expect(node.status.nodeInfo).toMatchObject({ containerRuntimeVersion: expect.stringMatching(/^nomad:\/\//) as unknown });
  });

  test("a pod receives config maps and secrets, and the job does not show the secret", async () => {
    await run("create", "configmap", "settings", "--from-literal=colour=blue");
    await run("create", "secret", "generic", "confidential", `--from-literal=password=${secret}`);
    await apply("one", {
      containers: [
        container(
          "main",
          `cat etc/settings/colour; echo; echo "$PASSWORD" | wc -c; trap 'echo bye; exit 0' TERM; while :; do sleep 0.1; done`,
          {
            env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "confidential", key: "password" } } }],
            volumeMounts: [
              { name: "settings", mountPath: "/etc/settings" },
              { name: "confidential", mountPath: "/etc/confidential" },
            ],
          },
        ),
      ],
      volumes: [
        { name: "settings", configMap: { name: "settings" } },
        { name: "confidential", secret: { secretName: "confidential" } },
      ],
    });
    await run("wait", "--for=condition=Ready", "pod/one", "--timeout=60s");
    await eventually(async () => expect(await run("logs", "one")).toBe(`blue\n${secret.length + 1}\n`), soon);

    expect(await run("exec", "one", "--", "cat", "etc/confidential/password")).toBe(secret);
    const jobs = await Promise.all((await ownJobs()).map((id) => nomad.request("GET", `/job/${id}`)));
    expect(jobs.length).toBeGreaterThan(0);
    expect(JSON.stringify(jobs)).not.toContain(secret);
  });

  test("a pod's file follows a changed config map without a restart", async () => {
    await run("patch", "configmap", "settings", "-p", '{"data":{"colour":"red"}}');

    await eventually(async () => expect(await run("exec", "one", "--", "cat", "etc/settings/colour")).toBe("red"), soon);
    expect(await run("get", "pod", "one", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")).toBe("0");
  });

  test("init containers run in order before three containers, which run concurrently", async () => {
    await apply("three", {
      initContainers: [container("first", "date +%s%N; sleep 1"), container("second", "date +%s%N")],
      containers: ["a", "b", "c"].map((name) => container(name, "date +%s%N; while :; do sleep 0.1; done")),
    });
    await run("wait", "--for=condition=Ready", "pod/three", "--timeout=60s");

    // A container is running before it has written its output.
    const timeOf = (name: string): Promise<number> =>
      eventually(async () => {
        const text = await run("logs", "three", "-c", name);
        expect(text).toMatch(/^\d+\n$/);
        return Number(text);
      }, soon);
    const times = await Promise.all(["first", "second", "a", "b", "c"].map(timeOf));
    expect(times[1]).toBeGreaterThan((times[0] ?? 0) + 1e9);
    for (const time of times.slice(2)) expect(time).toBeGreaterThan(times[1] ?? 0);
    expect(await run("get", "pod", "three", "-o", "jsonpath={.status.initContainerStatuses[*].state.terminated.reason}")).toBe(
      "Completed Completed",
    );
  });

  test("logs -f follows a container to its end", async () => {
    await apply("counting", { containers: [container("main", "for i in 1 2 3; do echo line $i; sleep 1; done")] });
    await eventually(async () => expect(await run("logs", "counting")).toMatch(/^line 1/), soon);

    expect(await run("logs", "-f", "counting")).toBe("line 1\nline 2\nline 3\n");
    await run("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/counting", "--timeout=60s");
  });

  test.each([0, 7])("exec forwards exit code %d, input and both outputs", async (code) => {
    const script = `cat; echo err >&2; exit ${code}`;
    const ended = await kubectl.run(["exec", "-i", "one", "--", "sh", "-c", script], "typed\n");

    expect([ended.stdout, ended.stderr.split("\n")[0], ended.code]).toEqual(["typed\n", "err", code]);
  });

  test("the refused field of an unsupported probe is reported", async () => {
    await apply("probed", {
      containers: [container("main", "sleep 60", { livenessProbe: { exec: { command: ["true"] }, terminationGracePeriodSeconds: 3600 } })],
    });

    await eventually(
      async () =>
        expect(await run("get", "pod", "probed", "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")).toMatch(
          /livenessProbe.*ProviderUnsupported/s,
        ),
      soon,
    );
    await run("delete", "pod", "probed", "--grace-period=0", "--force");
  });

  test.each<readonly [string, RegExp, Partial<Spec>, Record<string, string>]>([
    ["network", /hostNetwork.*policy\.hostNetwork allows it/s, { hostNetwork: true }, {}],
    ["host-path", /hostPath.*policy\.hostPaths allows it/s, { volumes: [{ name: "root", hostPath: { path: "/" } }] }, {}],
    ["driver", /annotations.*policy\.annotations allows it/s, {}, { "nomad.hashicorp.com/driver": "exec" }],
    ["datacenters", /annotations.*policy\.annotations allows it/s, {}, { "nomad.hashicorp.com/datacenters": "*" }],
    ["dns", /dnsConfig\.options\[0\]\.value/, { dnsConfig: { options: [{ name: "x", value: "${attr.kernel.version}" }] } }, {}],
  ])("a pod that requests variables of its client in its %s is refused and has no job", async (name, said, spec, annotations) => {
    const pod = `hostile-${name}`;
    await apply(pod, { containers: [container("main", "sleep 60")], ...spec }, annotations);
    const waiting = "jsonpath={.status.containerStatuses[0].state.waiting}";
    await eventually(async () => expect(await run("get", "pod", pod, "-o", waiting)).toMatch(said), soon);

    expect(await run("get", "pod", pod, "-o", waiting)).toContain("ProviderUnsupported");
    expect(await jobsOf(pod)).toEqual([]);
    await run("delete", "pod", pod, "--grace-period=0", "--force");
  });

  test("a container that cannot be started waits for the next attempt, with a single job", async () => {
    const containers = [{ name: "main", image: "none", command: [join(folder, "no-such-program")] }];
    await apply("typo", { restartPolicy: "Always", containers });
    const status =
      "jsonpath={.status.phase} {.status.containerStatuses[0].state.waiting.reason} {.status.containerStatuses[0].restartCount}";

    await eventually(async () => expect(await run("get", "pod", "typo", "-o", status)).toMatch(/^Running CrashLoopBackOff [1-9]$/), soon);
    expect(await jobsOf("typo")).toHaveLength(1);
    await run("delete", "pod", "typo", "--wait=false");
    await eventually(async () => expect(await jobsOf("typo")).toEqual([]), soon);
  });

  test("a copy of a pod's job has no effect on the pod and outlives it", async () => {
    await apply("copied", { containers: [container("main", "echo $NOMAD_JOB_ID; while :; do sleep 0.1; done")] });
    await run("wait", "--for=condition=Ready", "pod/copied", "--timeout=60s");
    const [own = ""] = await jobsOf("copied");
    const copy = `${own}-copy`;
    const { body } = await nomad.request("GET", `/job/${own}`);
    await nomad.request("PUT", "/jobs", { Job: { ...(body as object), ID: copy } });
    await eventually(async () => expect(await stateOf(copy)).toBe("running"), soon);

    await eventually(async () => expect(await run("logs", "copied")).toBe(`${own}\n`), soon);
    await run("delete", "pod", "copied");
    await eventually(async () => expect(await jobsOf("copied")).toEqual([copy]), soon);
    expect(await stateOf(copy)).toBe("running");
    await nomad.request("DELETE", `/job/${copy}?purge=true`);
  });

  test("hooks run after the start and before the end of a container", async () => {
    const file = (name: string): string => join(folder, `hook-${name}`);
    const hook = (name: string): object => ({ exec: { command: ["touch", file(name)] } });
    const script = `until [ -e ${file("start")} ]; do sleep 0.1; done; echo begun; trap '[ -e ${file("stop")} ] && touch ${file("end")}; exit' TERM; while :; do sleep 0.1; done`;
    await apply("hooked", { containers: [container("main", script, { lifecycle: { postStart: hook("start"), preStop: hook("stop") } })] });
    await eventually(async () => expect(await run("logs", "hooked")).toBe("begun\n"), soon);
    await run("delete", "pod", "hooked");

    expect(existsSync(file("end"))).toBe(true);
  });

  test("a restart of the program restarts no pod", async () => {
    const running = (): Promise<string> =>
      run("get", "pod", "one", "-o", "jsonpath={.status.containerStatuses[0].state.running.startedAt}");
    const before = await running();
    expect(await program.end("SIGTERM")).toBe(0);
    program = start();
    await nodeIsReady();

    await eventually(async () => expect(await run("exec", "one", "--", "echo", "again")).toBe("again\n"), soon);
    expect(await running()).toBe(before);
    expect(await run("get", "pods", "one", "three", "-o", "jsonpath={.items[*].status.phase}")).toBe("Running Running");
  });

  test("a deleted pod's containers are told to stop, and then its job is removed", async () => {
    const following = kubectl.start("logs", "-f", "one");
    await eventually(() => expect(following.output.stdout).toContain("blue"), soon);
    await run("delete", "pod", "one", "three", "counting", "--grace-period=10", "--wait=true", "--timeout=90s");

    await following.ended;
    expect(following.output.stdout).toContain("bye");
    await eventually(async () => expect(await ownJobs()).toEqual([]), soon);
  });

  function start(): Program {
    const words = ["--config", "config.json", "--health-addr", "off", "--identity", nodeName, "--kubeconfig", "kubeconfig"];
    const env = { KUBELET_PORT: "", NOMAD_ADDR: nomad.address, ...(nomad.token !== undefined && { NOMAD_TOKEN: nomad.token }) };
    return new Program(words, { cwd: folder, env });
  }

  async function nodeIsReady(): Promise<void> {
    await eventually(
      async () =>
        expect(await run("get", "node", nodeName, "-o", 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'), program.stderr).toBe(
          "True",
        ),
      soon,
    );
  }

  async function apply(name: string, spec: Spec, annotations: Record<string, string> = {}): Promise<void> {
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, annotations },
      spec: { nodeName, restartPolicy: "Never", automountServiceAccountToken: false, terminationGracePeriodSeconds: 10, ...spec },
    };
    const { code, stderr } = await kubectl.run(["create", "-f", "-"], JSON.stringify(pod));
    expect(code, stderr).toBe(0);
  }

  async function run(...args: readonly string[]): Promise<string> {
    const { child, output, ended } = kubectl.start(...args);
    child.stdin?.end();
    const { code, stderr } = await ended;
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr}`);
    return output.stdout;
  }

  /** IDs of the jobs of this test's node. */
  function ownJobs(): Promise<string[]> {
    return jobsWith("vk.node", nodeName);
  }

  /** IDs of the jobs whose meta names the pod. */
  function jobsOf(pod: string): Promise<string[]> {
    return jobsWith("vk.pod", pod);
  }

  async function jobsWith(key: string, value: string): Promise<string[]> {
    const filter = encodeURIComponent(`Meta["${key}"] == "${value}"`);
    const { body } = await nomad.request("GET", `/jobs?meta=true&filter=${filter}`);
    return (body as { readonly ID: string }[]).map(({ ID }) => ID);
  }

  /** Status of a job's first allocation. */
  async function stateOf(job: string): Promise<string | undefined> {
    const { body } = await nomad.request("GET", `/job/${job}/allocations`);
    return (body as { readonly ClientStatus: string }[])[0]?.ClientStatus;
  }
});

function container(name: string, script: string, fields: Partial<Container> = {}): Container {
  return { name, image: "none", command: ["sh", "-c", script], ...fields };
}
