import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod, type PodSpec } from "@virtual-kubelet/kube-client";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { controlGroupOf } from "./support/control-groups.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { EngineProxy, type EngineFault } from "./support/engine-proxy.ts";
import { unmountAll } from "./support/mounts.ts";

const signal = new AbortController().signal;
const engine = sharedApi();
const nodeName = "vk-crash";

/** Time-out in milliseconds for the slowest states; each kill costs a start of the program. */
const longMs = 600_000;

/** The real program on a real engine, which is restarted whenever it dies, with an API server in this process. */
class Rig implements AsyncDisposable {
  readonly client: KubeClient;
  readonly folder: string;
  readonly proxy: EngineProxy;
  /** Number of starts of the program. */
  starts = 0;
  readonly #server: ApiServer;
  #program: Program | undefined;
  #isKept = false;
  #keeping: Promise<void> | undefined;

  private constructor(server: ApiServer, folder: string, proxy: EngineProxy) {
    this.#server = server;
    this.client = createKubeClient(server.transport());
    this.folder = folder;
    this.proxy = proxy;
  }

  static async open(): Promise<Rig> {
    const folder = await mkdtemp(join(tmpdir(), "vk-crash-"));
    const [server, proxy] = await Promise.all([startApiServer(), EngineProxy.start(engine)]);
    await writeFile(join(folder, "kubeconfig"), server.kubeconfig());
    await mkdir(join(folder, "root"));
    const cgroupParent = controlGroupOf(engine.host);
    const providerConfig = {
      host: proxy.host,
      rootDirectory: join(folder, "root"),
      namePrefix: "vkcrash",
      cgroupParent,
      log: { links: false },
    };
    const config = {
      apiVersion: "virtual-kubelet.io/v1alpha1",
      kind: "VirtualKubelet",
      cluster: { kubeconfig: "kubeconfig" },
      instance: { identity: "crash" },
      nodes: [{ name: nodeName, provider: "docker", providerConfig, orphans: { grace: "3s", interval: "2s" } }],
    };
    await writeFile(join(folder, "virtual-kubelet.json"), JSON.stringify(config));
    return new Rig(server, folder, proxy);
  }

  /** Starts the program, and restarts it whenever it dies. */
  keep(): void {
    this.#isKept = true;
    this.#keeping ??= this.#run();
  }

  /** Kills the program without a restart, until {@link keep} is called. */
  async letDie(): Promise<void> {
    this.#isKept = false;
    this.kill();
    await this.#keeping;
    this.#keeping = undefined;
  }

  kill(): void {
    this.#program?.kill("SIGKILL");
  }

  async #run(): Promise<void> {
    while (this.#isKept) {
      this.starts++;
      this.#program = new Program(["--config", "virtual-kubelet.json", "--health-addr", "off"], { cwd: this.folder });
      await this.#program.exit;
    }
  }

  create(name: string, spec: PodSpec): Promise<Pod> {
    return this.client.create(resources.pods, { metadata: { namespace: "default", name }, spec: { nodeName, ...spec } }, { signal });
  }

  pod(name: string): Promise<Pod> {
    return this.client.get(resources.pods, { namespace: "default", name }, { signal });
  }

  async gone(name: string): Promise<void> {
    const { items } = await this.client.list(resources.pods, { namespace: "default" }, { signal });
    expect(items.map(({ metadata }) => metadata?.name)).not.toContain(name);
  }

  /** Lines that a pod's containers have written to the file `journal` in the volume `shared`. */
  async journal(uid: string): Promise<readonly string[]> {
    const path = join(this.folder, "root/pods", uid, "volumes/kubernetes.io~empty-dir/shared/journal");
    return (await readFile(path, "utf8")).trim().split("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.letDie();
    for (const id of await engine.containers({ [labelNames.node]: nodeName })) await engine.remove(id);
    await this.proxy[Symbol.asyncDispose]();
    await this.#server.close();
    unmountAll(this.folder);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** The change that a request makes at the engine, and its container; `undefined` if it changes nothing. */
async function stepOf(method: string, path: string, query: URLSearchParams): Promise<string | undefined> {
  const [, kind, id = "", verb = "remove"] = path.split("/");
  if (method === "GET" || method === "HEAD" || kind !== "containers") return undefined;
  // The check whether the engine sees our files creates a container without a name, which does not count.
  if (id === "create") return query.has("name") ? `create ${nameOf(query.get("name"))}` : undefined;
  const { status, body } = await engine.ask("GET", `/containers/${id}/json`);
  return status === 200 ? `${verb} ${nameOf((JSON.parse(body) as { Name: string }).Name)}` : undefined;
}

/** Name of the container in the pod; `POD` for the sandbox. */
function nameOf(name: string | null): string {
  return name?.split("_")[1] ?? "";
}

/** Kills the program before each step that it reaches for the first time. */
function killAtEachStep(rig: Rig, steps: Set<string>, phase: () => string): EngineFault {
  return async (method, path, query) => {
    const step = await stepOf(method, path, query);
    if (step === undefined || steps.has(`${phase()}: ${step}`)) return undefined;
    steps.add(`${phase()}: ${step}`);
    rig.kill();
    return { status: 503, message: "the program is dead" };
  };
}

const journal = { name: "shared", mountPath: "/shared" };
const note = (word: string): string => `echo ${word} >> /shared/journal`;
const untilTerm = (word: string): string => `trap '${note(`${word}-ends`)}; exit 0' TERM; while :; do sleep 1 & wait $!; done`;
const shell = (...script: readonly string[]): string[] => ["sh", "-c", script.join("; ")];
const image = "busybox:1.37";

test(
  "although it is killed before every step of a pod's life, the program starts each container once and ends it",
  async () => {
    await using rig = await Rig.open();
    await rig.client.create(
      resources.configMaps,
      { metadata: { namespace: "default", name: "config" }, data: { key: "value" } },
      { signal },
    );
    const steps = new Set<string>();
    let phase = "starts";
    await using _faults = rig.proxy.answer(killAtEachStep(rig, steps, () => phase));
    rig.keep();
    const hook = { exec: { command: ["true"] } };
    const { metadata } = await rig.create("whole", {
      terminationGracePeriodSeconds: 900,
      volumes: [
        { name: "shared", emptyDir: {} },
        { name: "config", configMap: { name: "config" } },
      ],
      initContainers: [
        { name: "init", image, command: shell(note("init")), volumeMounts: [journal] },
        { name: "side", image, restartPolicy: "Always", command: shell(note("side"), untilTerm("side")), volumeMounts: [journal] },
      ],
      containers: [
        {
          name: "main",
          image,
          command: shell(note("main"), "cat /config/key >> /shared/journal", "echo >> /shared/journal", untilTerm("main")),
          volumeMounts: [journal, { name: "config", mountPath: "/config" }],
          lifecycle: { postStart: hook, preStop: hook },
        },
      ],
    });
    const uid = metadata?.uid ?? "";

    await eventually(
      async () => {
        const { status } = await rig.pod("whole");
        expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
        expect(await rig.journal(uid)).toEqual(["init", "side", "main", "value"]);
      },
      { timeoutMs: longMs, describe: "the pod to be ready" },
    );
    const { status } = await rig.pod("whole");
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    expect(statuses.map(({ name, restartCount }) => [name, restartCount])).toEqual([
      ["init", 0],
      ["side", 0],
      ["main", 0],
    ]);
    expect(statuses[0]?.state?.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
    // One sandbox, and one container of each name.
    expect(await engine.containers({ [labelNames.podUid]: uid })).toHaveLength(4);
    phase = "ends";
    await rig.client.delete(resources.pods, { namespace: "default", name: "whole" }, {}, { signal });
    await eventually(() => rig.gone("whole"), { timeoutMs: longMs, describe: "the pod to be gone" });

    // If the program is killed after the API server has deleted the pod, it finds the remains as an orphan.
    await eventually(
      async () => {
        expect(await engine.containers({ [labelNames.podUid]: uid })).toEqual([]);
        expect(await readdir(join(rig.folder, "root/pods"))).toEqual([]);
      },
      { timeoutMs: longMs, describe: "nothing of the pod to be left" },
    );
    expect([...steps]).toEqual(
      expect.arrayContaining([
        ...["POD", "init", "side", "main"].flatMap((name) => [`starts: create ${name}`, `starts: start ${name}`]),
        "starts: exec main",
        "ends: exec main",
        ...["main", "side", "POD"].map((name) => `ends: kill ${name}`),
        "ends: remove POD",
      ]),
    );
  },
  2 * longMs,
);

test(
  "ends, messages and deletions during the program's absence are handled when it is back, and running containers keep their IDs",
  async () => {
    await using rig = await Rig.open();
    rig.keep();
    const waits = (code: number): string[] =>
      shell("while [ ! -e /shared/go ]; do sleep 0.1; done", `echo over > /dev/termination-log`, `exit ${code}`);
    const spec = (command: string[], restartPolicy: string): PodSpec => ({
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: "shared", emptyDir: {} }],
      containers: [{ name: "main", image, command, volumeMounts: [journal] }],
    });
    const created = await Promise.all([
      rig.create("runs", spec(shell(untilTerm("runs")), "Always")),
      rig.create("succeeds", spec(waits(0), "Never")),
      rig.create("restarts", spec(waits(3), "Always")),
      rig.create("deleted", spec(shell(untilTerm("deleted")), "Always")),
    ]);
    const names = created.map(({ metadata }) => metadata?.name ?? "");
    const running = async (name: string): Promise<string> => {
      const [main] = (await rig.pod(name)).status?.containerStatuses ?? [];
      expect(main?.state?.running).toBeDefined();
      return main?.containerID ?? "";
    };
    await eventually(() => Promise.all(names.map(running)), { timeoutMs: longMs, describe: "all pods to run" });
    const before = await running("runs");

    await rig.letDie();
    for (const { metadata } of created.slice(1, 3))
      await writeFile(join(rig.folder, "root/pods", metadata?.uid ?? "", "volumes/kubernetes.io~empty-dir/shared/go"), "");
    await rig.client.delete(resources.pods, { namespace: "default", name: "deleted" }, {}, { signal });
    const ended = await engine.containers({ [labelNames.podName]: "succeeds", [labelNames.container]: "main" });
    await eventually(
      async () => {
        const { State } = (await engine.json("GET", `/containers/${ended[0]}/json`)) as { State: { Status: string } };
        expect(State.Status).toBe("exited");
      },
      { timeoutMs: longMs },
    );
    rig.keep();

    await eventually(
      async () => {
        const [succeeded, restarted] = [await rig.pod("succeeds"), await rig.pod("restarts")];
        expect(succeeded.status?.phase).toBe("Succeeded");
        expect(succeeded.status?.containerStatuses).toMatchObject([{ state: { terminated: { exitCode: 0, message: "over\n" } } }]);
        expect(restarted.status?.containerStatuses?.[0]?.restartCount).toBeGreaterThanOrEqual(1);
        expect(restarted.status?.containerStatuses).toMatchObject([{ lastState: { terminated: { exitCode: 3, message: "over\n" } } }]);
        await rig.gone("deleted");
      },
      { timeoutMs: longMs, describe: "the program to tell what happened" },
    );
    expect(await running("runs")).toBe(before);
    expect((await rig.pod("runs")).status?.containerStatuses).toMatchObject([{ restartCount: 0, ready: true }]);
    // The pod may disappear when its containers have ended; the containers are removed after that.
    await eventually(async () => expect(await engine.containers({ [labelNames.podUid]: created[3]?.metadata?.uid ?? "" })).toEqual([]), {
      timeoutMs: longMs,
      describe: "nothing of the deleted pod to be left",
    });
  },
  2 * longMs,
);
