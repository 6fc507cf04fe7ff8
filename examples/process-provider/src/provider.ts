import { spawn, type ChildProcess } from "node:child_process";
import type { PodRef, PodUpdate, Provider, ProviderDefinition, ProviderHost, ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import { z } from "zod";

/** A pod of one container, run as a process of this machine. */
interface LocalPod {
  readonly ref: PodRef;
  readonly container: string;
  readonly image: string;
  readonly process: ChildProcess;
  readonly startedAt: string;
  ended?: { readonly exitCode: number; readonly finishedAt: string };
  deleted?: boolean;
}

/** Runs a pod's command as a process of this machine. Its image is not looked at; its end is the program's at the latest. */
export const provider: ProviderDefinition<object> = {
  name: "process",
  capabilities: { env: true },
  configSchema: z.strictObject({}),
  create: (host) => createProvider(host),
};

function createProvider(host: ProviderHost): Provider {
  const pods = new Map<string, LocalPod>();
  let notify: (update: PodUpdate) => void = () => {};

  const find = (ref: PodRef): LocalPod => {
    const pod = pods.get(ref.uid);
    if (pod === undefined) throw new NotFoundError(`pod ${ref.namespace}/${ref.name} (${ref.uid}) has no process here`);
    return pod;
  };
  const describe = (pod: LocalPod): ProviderPod => ({
    ref: pod.ref,
    owner: { clusterId: host.clusterId, nodeName: host.nodeName },
    createdAt: pod.startedAt,
    status: statusOf(pod),
  });
  const report = (pod: LocalPod): void => {
    if (pod.deleted === true && pod.ended !== undefined) pods.delete(pod.ref.uid);
    notify({ ref: pod.ref, status: statusOf(pod) });
  };
  const timeNow = (): string => new Date(host.clock.now()).toISOString();

  return {
    notifyPods: (listener) => void (notify = listener),

    async createPod({ metadata, spec }, resolved, signal) {
      const { namespace = "", name = "", uid = "" } = metadata ?? {};
      const { name: container = "", image = "" } = spec?.containers[0] ?? {};
      if (pods.has(uid)) return;
      const { command, args } = await resolved.commandLine(container, signal);
      const [program, ...rest] = [...command, ...args];
      if (program === undefined) throw new InvalidInputError(`container ${container} has no command; set it to the program to run`);
      const variables = await resolved.environment(container, signal);
      const env = Object.fromEntries(variables.map((variable) => [variable.name, variable.value]));

      const process = spawn(program, rest, { env, stdio: "ignore" });
      const pod: LocalPod = { ref: { namespace, name, uid }, container, image, process, startedAt: timeNow() };
      const end = (exitCode: number): void => {
        pod.ended ??= { exitCode, finishedAt: timeNow() };
        report(pod);
      };
      process.once("exit", (code) => end(code ?? 137)).once("error", () => end(127));
      pods.set(uid, pod);
      report(pod);
    },

    // Only labels and annotations may change, and a process has neither.
    updatePod: async () => {},

    async deletePod(ref, { gracePeriodSeconds }) {
      const pod = find(ref);
      pod.deleted = true;
      if (pod.ended !== undefined) return report(pod);
      pod.process.kill("SIGTERM");
      const timer = host.clock.setTimer(gracePeriodSeconds * 1000, () => pod.process.kill("SIGKILL"));
      pod.process.once("exit", () => timer[Symbol.dispose]());
    },

    getPod: async (ref) => describe(find(ref)),
    getPodStatus: async (ref) => statusOf(find(ref)),
    getPods: async () => ({ pods: Array.from(pods.values(), describe), complete: true }),

    async [Symbol.asyncDispose]() {
      for (const pod of pods.values()) pod.process.kill("SIGKILL");
    },
  };
}

function statusOf({ container, image, startedAt, ended }: LocalPod): ProviderPodStatus {
  const state = ended === undefined ? { running: { startedAt } } : { terminated: { startedAt, ...ended } };
  const ready = ended === undefined;
  const phase = ended === undefined ? "Running" : ended.exitCode === 0 ? "Succeeded" : "Failed";
  return { phase, containerStatuses: [{ name: container, image, imageID: image, ready, started: ready, restartCount: 0, state }] };
}
