import { systemClock } from "@virtual-kubelet/clock";
import { createHttpTransport, createKubeClient, loadCredentials, resources } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { soon } from "./support/program-rig.ts";

const { signal } = new AbortController();

test("a simulation in memory says what to type next, and its nodes run the pods of a Deployment until Ctrl-C", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-e2e-"));
  await writeFile(join(folder, "stages.json"), JSON.stringify({ stages: [{ match: { labels: { app: "web" } }, log: "hello" }] }));
  const words = "simulate --embedded --nodes 12 --name lab --pods 5 --provider-config stages.json --health-addr off";
  await using program = new Program(words.split(" "), { cwd: folder });
  await eventually(() => expect(program.stdout).toContain("12 nodes Ready"), soon);

  expect(program.stdout).toMatch(
    /12 nodes join the cluster[^]* {2}kubectl --kubeconfig \.simulate\/kubeconfig get nodes\n[^]*12 nodes Ready/,
  );
  expect(program.stderr).toBe("");
  const kubeconfig = join(folder, ".simulate/kubeconfig");
  expect((await stat(kubeconfig)).mode & 0o777).toBe(0o600);
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });
  const client = createKubeClient(transport);
  // The taint of a new node goes when the cluster's controller has seen that it is Ready.
  await eventually(async () => {
    const nodes = (await client.list(resources.nodes, {}, { signal })).items;
    expect(nodes.map(({ metadata }) => metadata?.name).toSorted()).toEqual(
      Array.from({ length: 12 }, (_, number) => `lab-${number}`).toSorted(),
    );
    for (const { spec, status } of nodes) expect([spec?.taints, status?.allocatable?.["pods"]]).toEqual([undefined, "5"]);
  }, soon);

  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "nginx" }] } };
  const deployment = {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 30, selector: { matchLabels: { app: "web" } }, template },
  };
  await client.create(resources.deployments, deployment, { signal });
  const pods = await eventually(async () => {
    const { items } = await client.list(resources.pods, { namespace: "default" }, { signal });
    expect(items.filter(({ status }) => status?.phase === "Running")).toHaveLength(30);
    return items;
  }, soon);
  expect(new Set(pods.map(({ spec }) => spec?.nodeName)).size).toBeGreaterThan(5);
  const log = await client.raw("GET", `/api/v1/namespaces/default/pods/${pods[0]?.metadata?.name}/log`, undefined, { signal });
  expect(log).toBe("hello\n");

  program.kill("SIGINT");
  expect(await program.exit).toBe(0);
  await rm(folder, { recursive: true });
});

test("a simulation joins the cluster of a kubeconfig", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-e2e-"));
  await using cluster = new Program("simulate --embedded --nodes 1 --kubeconfig config.json --health-addr off".split(" "), { cwd: folder });
  await eventually(() => expect(cluster.stdout).toContain("1 node Ready"), soon);
  expect(cluster.stdout).toContain("1 node joins the cluster");
  expect(await readFile(join(folder, "config.json"), "utf8")).toContain("127.0.0.1");

  await using program = new Program(
    "simulate --nodes 2 --name more --kubeconfig config.json --kubelet-port 0 --health-addr off".split(" "),
    {
      cwd: folder,
    },
  );
  await eventually(() => expect(program.stdout).toContain("2 nodes Ready"), soon);
  expect(program.stdout).toContain("kubectl --kubeconfig config.json get nodes");
  expect(program.stdout).toContain("--disable-taint opens them to all pods");
  await using transport = createHttpTransport({
    credentials: await loadCredentials({ kubeconfig: join(folder, "config.json"), env: {}, clock: systemClock }),
  });
  const client = createKubeClient(transport);
  const taints = async (): Promise<Record<string, readonly unknown[]>> => {
    const { items } = await client.list(resources.nodes, {}, { signal });
    const ours = (key: string): boolean => key === "virtual-kubelet.io/provider";
    return Object.fromEntries(
      items.map(({ metadata, spec }) => [metadata?.name ?? "", spec?.taints?.filter(({ key }) => ours(key)) ?? []]),
    );
  };
  const tainted = [{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }];
  expect(await taints()).toEqual({ "sim-0": [], "more-0": tainted, "more-1": tainted });
  program.kill("SIGINT");
  expect(await program.exit).toBe(0);
  expect(Object.keys(await taints())).toEqual(["sim-0"]);
  await rm(folder, { recursive: true });
});
