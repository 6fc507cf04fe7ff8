import { isNotFound } from "@virtual-kubelet/errdefs";
import type { Owner, PodRef, PodUpdate, Provider, ProviderDefinition, ProviderHost } from "@virtual-kubelet/core";
import { z } from "zod";
import { toInstanceRequest, type Instance } from "../pretend-backend/instance.ts";
import { toProviderPod, toProviderPodStatus } from "../pretend-backend/instance-status.ts";
import { toPodUpdate } from "../pretend-backend/pretend-backend.ts";
import { FileBackendClient } from "./file-backend-client.ts";
import type { BackendEvent } from "./file-backend-server.ts";

/** Configuration of the file provider. */
export interface FileProviderConfig {
  /** Folder of the back end; see {@link startFileBackend}. */
  readonly directory: string;
  /** Whether the provider reports changes (default) or is polled. */
  readonly mode: "notify" | "poll";
}

const configSchema: z.ZodType<FileProviderConfig> = z.strictObject({
  directory: z.string().min(1),
  mode: z.enum(["notify", "poll"]).default("notify"),
});

/** Delay before a lost connection to the back end is opened again, in milliseconds. */
const reconnectMs = 200;

/**
 * A provider whose back end is a separate process that outlives it, for tests that kill and restart the node. Pass its path to the
 * program (`--provider` with {@link fileProviderPath}).
 */
export const provider: ProviderDefinition<FileProviderConfig> = {
  name: "file",
  capabilities: {
    initContainers: true,
    multipleContainers: true,
    env: true,
    restarts: true,
    volumes: ["configMap", "downwardAPI", "emptyDir", "projected", "secret"],
    operatingSystems: ["linux"],
  },
  configSchema,
  create: (host, config) => createFileProvider(host, config),
};

function createFileProvider(host: ProviderHost, config: FileProviderConfig): Provider {
  const owner: Owner = { clusterId: host.clusterId, nodeName: host.nodeName };
  const client = new FileBackendClient(config.directory);
  const disposal = new AbortController();
  let following: Promise<void> | undefined;

  const isOurs = (instance: Instance): boolean =>
    instance.owner.clusterId === owner.clusterId && instance.owner.nodeName === owner.nodeName;
  const polled: Provider = {
    ping: (signal) => client.ping(signal),
    configureNode: () => Promise.resolve({ capacity: { cpu: "64", memory: "256Gi", pods: "1000" }, operatingSystem: "linux" }),
    async createPod(pod, _resolved, signal) {
      const request = toInstanceRequest(pod, owner);
      // The back end creates a new instance for every call, so an instance of an earlier call is looked for first.
      if ((await tryGet(request.ref, signal)) === undefined) await client.create(request, signal);
    },
    updatePod: () => Promise.resolve(),
    deletePod: (ref, { gracePeriodSeconds }, signal) => client.delete(ref.uid, gracePeriodSeconds, signal),
    getPod: async (ref, signal) => toProviderPod(await client.get(ref.uid, signal)),
    getPodStatus: async (ref, signal) => toProviderPodStatus(await client.get(ref.uid, signal)),
    async getPods(signal) {
      const { instances, complete } = await client.list(signal);
      return { pods: instances.filter(isOurs).map(toProviderPod), complete };
    },
    async [Symbol.asyncDispose]() {
      disposal.abort(new Error("the provider is disposed"));
      await following;
    },
  };
  if (config.mode === "poll") return polled;
  return {
    ...polled,
    notifyPods(listener) {
      following = follow(listener);
    },
  };

  async function tryGet(ref: PodRef, signal: AbortSignal): Promise<Instance | undefined> {
    try {
      return await client.get(ref.uid, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Forwards the back end's reports until disposed; reconnects when the connection breaks. */
  async function follow(listener: (update: PodUpdate) => void): Promise<void> {
    const known = new Map<string, Instance>();
    while (!disposal.signal.aborted) {
      try {
        for await (const event of client.events(disposal.signal)) report(event, known, listener);
      } catch (err) {
        if (!disposal.signal.aborted) host.logger.debug({ err }, "the file back end's events broke off");
      }
      await host.clock.sleep(reconnectMs, disposal.signal).catch(() => undefined);
    }
  }

  function report(event: BackendEvent, known: Map<string, Instance>, listener: (update: PodUpdate) => void): void {
    if (event.type === "change") {
      if (!isOurs(event.instance)) return;
      if (event.change === "removed") known.delete(event.instance.instanceId);
      else known.set(event.instance.instanceId, event.instance);
      listener(toPodUpdate(event.instance, event.change));
      return;
    }
    const present = event.instances.filter(isOurs);
    const ids = new Set(present.map(({ instanceId }) => instanceId));
    // Instances that were removed while the connection was down.
    for (const instance of known.values()) if (!ids.has(instance.instanceId)) listener(toPodUpdate(instance, "removed"));
    known.clear();
    for (const instance of present) {
      known.set(instance.instanceId, instance);
      listener(toPodUpdate(instance, "changed"));
    }
  }
}
