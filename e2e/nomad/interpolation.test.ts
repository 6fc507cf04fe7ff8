import type { Container, Pod } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, expect, test } from "vitest";
import { NomadClient } from "../../providers/nomad/src/api/nomad-client.ts";
import { ObjectReader } from "../../providers/nomad/src/api/object-reader.ts";
import type { Allocation, NomadJob } from "../../providers/nomad/src/api/types.ts";
import type { JobPlan } from "../../providers/nomad/src/job/job-of.ts";
import { planOf } from "../../providers/nomad/src/test-support/pods.ts";
import { httpTo, openNomad } from "./backend.ts";
import { jobWith, taskWith } from "./test-jobs.ts";

// Nomad puts variables into what a job says: attributes of clients among them. Users of Kubernetes are not to read these. It runs on the fake
// and, with E2E_NOMAD=real, on a real agent.
const { signal } = new AbortController();
const soon = { timeoutMs: 60_000, intervalMs: 50 };

const nomad = await openNomad();
const http = httpTo(nomad);
const client = new NomadClient(http, new ObjectReader({ logger: silentLogger, metrics: noMetrics }), "default");
const onDocker = nomad.kind === "real" && nomad.driver === "docker" ? [nomad.network] : [];
const ended: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await nomad[Symbol.asyncDispose]();
});

/** Runs a job to its end. */
async function run(job: NomadJob): Promise<Allocation> {
  ended.push(() => client.stopJob(job.ID, { purge: true }, signal));
  await client.registerJob(job, 0, signal);
  return eventually(async () => {
    const [allocation] = await client.jobAllocations(job.ID, signal);
    expect(allocation?.ClientStatus).toMatch(/^(complete|failed)$/);
    return allocation as Allocation;
  }, soon);
}

/** Runs a job to its end. @returns the lines that its task has written */
async function linesOf(job: NomadJob): Promise<readonly string[]> {
  const { ID } = await run(job);
  const chunks: Uint8Array[] = [];
  const request = { task: "main", tenant: "default", type: "stdout", offset: 0 } as const;
  for await (const chunk of await client.log(ID, request, signal)) chunks.push(chunk);
  return Buffer.concat(chunks).toString().split("\n").slice(0, -1);
}

/** What the provider makes of a pod of one container that runs a script. */
function planned(script: string, fields: Partial<Container>, { config = {}, files = {}, volumes = [] as object[] } = {}): JobPlan {
  const container = { name: "main", command: ["sh", "-c", script, ...(fields.command ?? [])] };
  const pod: Pod = {
    metadata: { namespace: "shop", name: "web", uid: randomUUID() },
    spec: {
      restartPolicy: "Never",
      containers: [{ ...fields, ...container }],
      volumes: volumes as NonNullable<NonNullable<Pod["spec"]>["volumes"]>,
    },
  };
  return planOf(pod, { driver: "raw_exec", defaultCpu: "10m", defaultMemory: "32Mi", ...config }, { files });
}

/** Writes an entry of the meta, as the shell `$shell` has it; shells themselves take no variable of its name. */
const metaOf = (name: string): string => `tr '\\000' '\\n' </proc/$shell/environ | sed -n 's/^NOMAD_META_vk.${name}=//p'`;

test("Nomad puts its variables into words, environment and meta of a task", async () => {
  const text = "${attr.kernel.name}";
  const words = ["-c", `shell=$$; printf "%s\\n" "$0" "$A"; ${metaOf("note")}`, text];
  const job = jobWith([taskWith("", { Config: { command: "sh", args: words }, Env: { A: text } })], { Meta: { "vk.note": text } });

  expect(await linesOf(job)).toEqual(["linux", "linux", "linux"]);
});

test("no text of a pod has any put into it", async () => {
  const text = '${attr.kernel.name} $${attr.cpu.arch} %{ if true } {{ env "HOME" }} ${NOMAD_JOB_ID}';
  const script = `shell=$$$$; printf "%s\\n" "$0" "$1" "$A"; ${metaOf("shape")}; cat etc/settings/file`;
  const { job, variables } = planned(
    script,
    {
      image: `registry/${text}`,
      command: [text],
      args: [text],
      env: [{ name: "A", value: text }],
      volumeMounts: [{ name: "s", mountPath: "/etc/settings" }],
    },
    { files: { s: { file: `${text}\n` } }, volumes: [{ name: "s", configMap: { name: "settings" } }] },
  );
  for (const variable of variables) {
    await client.writeVariable(variable, signal);
    ended.push(() => client.deleteVariable(variable.Path, signal));
  }
  const [first, second, environment, shape = "", ...file] = await linesOf(job);

  // The words are expanded by the rules of Kubernetes, which make one of two dollar signs.
  const word = text.replace("$$", () => "$");
  expect([first, second, environment, ...file]).toEqual([word, word, text, text]);
  expect(JSON.parse(shape)).toMatchObject({ containers: [{ image: `registry/${text}` }] });
});

test.for(onDocker)(
  "Nomad puts them into the DNS options of a task with network %s, for which the provider refuses them",
  async (network) => {
    const { job } = planned("cat /etc/resolv.conf", { image: nomad.image }, { config: { driver: "docker", network: "none" } });
    const [group] = job.TaskGroups;
    const DNS = { Servers: ["203.0.113.1"], Searches: ["${attr.kernel.name}.example.com"], Options: ["x:$${attr.kernel.name}"] };
    const networks = [{ Mode: "none", DNS }];

    expect(network).toBeDefined();
    expect(await linesOf({ ...job, TaskGroups: group ? [{ ...group, Networks: networks }] : [] })).toEqual(
      expect.arrayContaining(["search linux.example.com", "options x:$linux"]),
    );
  },
);

test.for(onDocker)("no setting of a container with network %s shows them in an error", async (network) => {
  const securityContext = { capabilities: { drop: ["${attr.kernel.name}"] } };
  const { job } = planned("true", { image: nomad.image, securityContext }, { config: { driver: "docker", network } });
  const { TaskStates, ClientStatus } = await run(job);

  expect(ClientStatus).toBe("failed");
  const told = JSON.stringify(TaskStates?.["main"]?.Events);
  expect(told).toContain("${attr.kernel.name}");
  expect(told).not.toContain("linux");
});
