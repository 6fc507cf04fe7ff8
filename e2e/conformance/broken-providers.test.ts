import type { Provider, ProviderDefinition } from "@virtual-kubelet/core";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { allChecks, runCheck, type ConformanceOptions } from "@virtual-kubelet/testing/conformance";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { mockPrograms } from "./support/mock-programs.ts";

// The suite must be able to fail: each of these providers is the mock with one fault, and one check finds it.

/** The mock, with methods in place of its own. */
function broken(change: (provider: Provider, host: Parameters<typeof mock.create>[0]) => Partial<Provider>): ConformanceOptions {
  const definition: ProviderDefinition = {
    ...(mock as ProviderDefinition),
    async create(host, config) {
      const whole = await (mock as ProviderDefinition).create(host, config);
      const changed = change(whole, host);
      const proxy: Provider = new Proxy(whole, {
        get(target, key) {
          const value: unknown = Reflect.get(key in changed ? changed : target, key);
          return typeof value === "function" ? value.bind(key in changed ? changed : target) : value;
        },
      });
      return proxy;
    },
  };
  return {
    provider: definition,
    required: [],
    config: { pods: 100 },
    programs: mockPrograms,
    podsOutliveProgram: false,
    timeouts: { startMs: 5000, endMs: 5000, callMs: 5000 },
  };
}

/** One whose fault is that a call does not come back: that is waited for less. */
function hanging(options: ConformanceOptions): ConformanceOptions {
  return { ...options, timeouts: { ...options.timeouts, callMs: 1000 } };
}

function checkNamed(text: string): (typeof allChecks)[number] {
  const found = allChecks.filter(({ name }) => name.includes(text));
  const [check] = found;
  if (!check || found.length > 1) throw new Error(`${found.length} checks hold ${JSON.stringify(text)} in their names`);
  return check;
}

const forever = new Promise<never>(() => {});

const faults: readonly {
  readonly fault: string;
  readonly check: string;
  readonly says: RegExp;
  readonly options: ConformanceOptions;
}[] = [
  {
    fault: "takes the name for the identity",
    check: "another UID under a pod's name",
    says: /Missing expected rejection/,
    options: broken((provider, { nodeName, clusterId }) => {
      const real = async (name: string, signal: AbortSignal): Promise<Awaited<ReturnType<Provider["getPod"]>>> => {
        const found = (await provider.getPods(signal)).pods.find(({ ref }) => ref.name === name);
        if (!found) throw new Error("no such name");
        return { ...found, owner: { nodeName, clusterId } };
      };
      return {
        getPod: ({ name }, signal) => real(name, signal),
        getPodStatus: async ({ name }, signal) => (await real(name, signal)).status,
      };
    }),
  },
  {
    fault: "makes a pod twice",
    check: "a pod created twice is one pod",
    says: /made another instance|more than once/,
    options: broken((provider) => ({
      async createPod(pod, resolved, signal) {
        const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
        await provider.deletePod({ namespace, name, uid }, { gracePeriodSeconds: 0 }, signal).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 1100));
        await provider.createPod(pod, resolved, signal);
      },
    })),
  },
  {
    fault: "forgets who owns a pod",
    check: "what was made is tagged with cluster and node",
    says: /owner must be the tag/,
    options: broken((provider) => ({
      getPod: async (ref, signal) => ({ ...(await provider.getPod(ref, signal)), owner: { clusterId: "", nodeName: "" } }),
    })),
  },
  {
    fault: "says that a partial list is complete",
    check: "all pods are listed",
    says: /deep-equal/,
    options: broken((provider) => ({
      getPods: async (signal) => ({ pods: (await provider.getPods(signal)).pods.slice(1), complete: true }),
    })),
  },
  {
    fault: "does not heed the grace",
    check: "killed when its grace is over, and not before",
    says: /given 2 s of grace/,
    options: broken((provider) => ({ deletePod: (ref, _options, signal) => provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal) })),
  },
  {
    fault: "swallows the error of a missing secret",
    check: "a pod whose secret is missing is not made",
    says: /to wait for what is missing/,
    options: broken((provider) => ({
      createPod: (pod, resolved, signal) => provider.createPod(pod, { ...resolved, environment: async () => [] }, signal),
    })),
  },
  {
    fault: "reports a pod that has ended as running",
    check: "an ended pod stays as it ended",
    says: /a pod that has ended stays as it ended|phase is Running|deep-equal/,
    options: broken((provider) => {
      let asked = 0;
      return {
        async getPodStatus(ref, signal) {
          const status = await provider.getPodStatus(ref, signal);
          return status.phase === "Failed" && ++asked > 1 ? { ...status, phase: "Running" } : status;
        },
      };
    }),
  },
  {
    fault: "has no status for a container that does not run yet",
    check: "from the first report on there is a status for each container",
    says: /containerStatuses are of \[\], expected one for each of \[main\]/,
    options: broken((provider) => ({
      notifyPods: (listener) =>
        provider.notifyPods?.((update) =>
          listener("status" in update ? { ...update, status: { ...update.status, containerStatuses: [] } } : update),
        ),
    })),
  },
  {
    fault: "tells nobody that a pod has ended",
    check: "a pod that starts and ends by itself is reported",
    says: /its end was not told/,
    options: broken((provider) => ({
      notifyPods: (listener) =>
        provider.notifyPods?.((update) => {
          if ("status" in update && update.status.phase === "Running") listener(update);
        }),
    })),
  },
  {
    fault: "logs the environment",
    check: "what a pod gets from a secret",
    says: /in the log or in a metric's label/,
    options: broken((provider, { logger }) => ({
      async createPod(pod, resolved, signal) {
        logger.debug({ env: await resolved.environment("main", signal) }, "creating a pod");
        await provider.createPod(pod, resolved, signal);
      },
    })),
  },
  {
    fault: "hangs when it is aborted",
    check: "runInContainer comes back when it is aborted",
    says: /runInContainer, .* has not come back within 1000 ms/,
    options: hanging(broken(() => ({ runInContainer: () => forever }))),
  },
  {
    fault: "leaves a timer behind",
    check: "getPods comes back when it is aborted",
    says: /still open at the end: .*Timeout/,
    options: broken((provider) => ({
      getPods: (signal) => {
        setTimeout(() => {}, 20_000).ref();
        return provider.getPods(signal);
      },
    })),
  },
  {
    fault: "says that it applies what it does not",
    check: "tailLines is applied exactly where it is said to be",
    says: /tailLines=/,
    options: broken((provider) => ({
      async getContainerLogs(ref, container, { tailLines: _, ...options }, signal) {
        const logs = await provider.getContainerLogs?.(ref, container, options, signal);
        return { data: logs?.data ?? none(), timestamps: true, applied: ["tailLines"] };
      },
    })),
  },
  {
    fault: "ends a followed log before its time",
    check: "a followed log holds what was and what comes",
    says: /strictly equal/,
    options: broken((provider) => ({
      getContainerLogs: async (ref, container, options, signal) => ({
        data: (await provider.getContainerLogs?.(ref, container, options, signal))?.data ?? none(),
        timestamps: true,
        applied: ["tailLines"],
      }),
    })),
  },
  {
    fault: "loses the exit code of a command",
    check: "a command's exit code is told",
    says: /exit 3/,
    options: broken((provider) => ({
      async runInContainer(ref, container, command, io, signal) {
        await provider.runInContainer?.(ref, container, command, io, signal);
        return { exitCode: 0 };
      },
    })),
  },
  {
    fault: "does not tell a command where its input ends",
    check: "a command reads its input to the end",
    says: /has not come back/,
    options: hanging(
      broken((provider) => ({
        runInContainer: async (ref, container, command, io, signal) =>
          (await provider.runInContainer?.(ref, container, command, { ...io, stdin: endless(io.stdin) }, signal)) ?? { exitCode: 0 },
      })),
    ),
  },
  {
    fault: "measures processor time that falls",
    check: "a container's processor time never falls",
    says: /usageCoreNanoSeconds fell/,
    options: broken((provider) => {
      let left = 1e12;
      return {
        async getStatsSummary(signal) {
          const summary = (await provider.getStatsSummary?.(signal)) ?? { pods: [] };
          const pods = summary.pods.map((pod) => ({
            ...pod,
            containers: pod.containers.map((each) => ({ ...each, cpu: { time: each.startTime, usageCoreNanoSeconds: (left -= 1e9) } })),
          }));
          return { ...summary, pods };
        },
      };
    }),
  },
  {
    fault: "claims to reach ports that nothing listens on",
    check: "a port that nothing listens on is Unavailable",
    says: /Missing expected rejection/,
    options: broken(() => ({ portForward: async () => {} })),
  },
];

test.each(faults)("a provider that $fault is found out", async ({ check, options, says }) => {
  await runCheck(checkNamed(check), { ...options, provider: mock, timeouts: {} });

  await expect(runCheck(checkNamed(check), options).catch((error: unknown) => Promise.reject(new Error(textOf(error))))).rejects.toThrow(
    says,
  );
});

/** The messages of an error, of what it wraps and of what it suppressed. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner =
    error instanceof SuppressedError ? [error.error, error.suppressed] : error instanceof AggregateError ? error.errors : [error.cause];
  return [error.message, ...inner.filter((each) => each !== undefined).map(textOf)].join("\n");
}

async function* none(): AsyncGenerator<string, void, undefined> {}

/** The same input, and then nothing, for ever. */
function endless(stdin: Readable | undefined): Readable {
  return Readable.from(
    (async function* () {
      for await (const chunk of stdin ?? []) yield chunk;
      await forever;
    })(),
  );
}
