/**
 * Measures whether lease renewals stay on time while 300 watches are open and 1,000 patches are queued: prints the duration of ten
 * renewals without load, and then of ten under that load.
 *
 * Usage: lease-under-load.ts KUBECONFIG
 */
import { systemClock } from "@virtual-kubelet/clock";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  resources,
  type KubeClient,
  type Lease,
} from "@virtual-kubelet/kube-client";
import { microTime } from "@virtual-kubelet/kubernetes";

const [kubeconfig = ""] = process.argv.slice(2);
const namespace = "default";
const stop = new AbortController();
const { signal } = stop;
const credentials = await loadCredentials({ kubeconfig, env: {}, clock: systemClock });
await using transport = createHttpTransport({ credentials });
const client = createKubeClient(transport);

const configMap = await client.create(resources.configMaps, { metadata: { name: `load-${process.pid}`, namespace } }, { signal });
const lease = await client.create(
  resources.leases,
  { metadata: { name: `load-${process.pid}`, namespace }, spec: { renewTime: microTime(Date.now()) } },
  { signal },
);
const alone = await renewals(client, lease, 10);

const watches = await Promise.all(Array.from({ length: 300 }, () => client.watch(resources.configMaps, { namespace }, { signal })));
const watching = watches.map((events) => drain(events));
const patches = Array.from({ length: 1_000 }, (_, index) =>
  client.patch(
    resources.configMaps,
    { namespace, name: configMap.metadata?.name ?? "" },
    { type: "merge", body: { data: { index: String(index) } } },
    { signal },
  ),
);
const loaded = await renewals(client, lease, 10);
await Promise.all(patches);
stop.abort();
await Promise.all(watching);
process.stdout.write(`${JSON.stringify({ aloneMs: alone, underLoadMs: loaded })}\n`);

async function renewals(api: KubeClient, held: Lease, count: number): Promise<number[]> {
  const name = { namespace, name: held.metadata?.name ?? "" };
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    await api.patch(
      resources.leases,
      name,
      { type: "merge", body: { spec: { renewTime: microTime(Date.now()) } } },
      { signal, pool: "lease" },
    );
    times.push(Math.round((performance.now() - startMs) * 10) / 10);
  }
  return times;
}

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of events);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
