import { Readable } from "node:stream";
import type { StatsSummary } from "@virtual-kubelet/core";
import { type Change } from "../broken-provider.ts";
import { forever, hangingMock, mock, never, processes, type Row } from "./bases.ts";

/** Faults in logs, commands, ports and figures. */
export const accessFaults: readonly Row[] = [
  // Logs
  [
    "gives the log of another container",
    "each container of a pod has a log of its own",
    /the log of container b is "of a\\n"/,
    mock((provider) => ({
      getContainerLogs: (ref, _container, options, signal) => provider.getContainerLogs?.(ref, "a", options, signal) ?? forever,
    })),
  ],
  [
    "drops what a container writes to its standard error",
    "a container's log includes its standard error",
    /the log lacks what was written to standard error/,
    processes((provider) => ({
      createPod: (pod, resolved, signal) =>
        provider.createPod(
          pod,
          {
            ...resolved,
            commandLine: async (name) => {
              const { command, args } = await resolved.commandLine(name, signal);
              return { command: ["sh", "-c", 'exec "$0" "$@" 2> /dev/null', ...command], args };
            },
          },
          signal,
        ),
    })),
  ],
  [
    "says that it applies tailLines, and does not",
    "tailLines is applied exactly if the result's applied names it",
    /tailLines=/,
    mock((provider) => ({
      async getContainerLogs(ref, container, { tailLines: _, ...options }, signal) {
        const logs = await provider.getContainerLogs?.(ref, container, options, signal);
        return { data: logs?.data ?? none(), timestamps: true, applied: ["tailLines"] };
      },
    })),
  ],
  [
    "never ends a log that is not followed",
    "a container's log is complete and in order, while it runs and afterwards",
    /the end of a log that is not followed has not come back within 1000 ms/,
    hangingMock((provider) => ({
      async getContainerLogs(ref, container, options, signal) {
        const logs = await provider.getContainerLogs?.(ref, container, options, signal);
        return { ...logs, data: endless(logs?.data) };
      },
    })),
  ],
  [
    "ends a followed log before its time",
    "a followed log has the earlier and the new lines, and ends with the container",
    /strictly equal/,
    mock((provider) => ({
      getContainerLogs: async (ref, container, options, signal) => ({
        data: (await provider.getContainerLogs?.(ref, container, options, signal))?.data ?? none(),
        timestamps: true,
        applied: ["tailLines"],
      }),
    })),
  ],
  // Commands
  [
    "drops what a command writes to its standard error",
    "a command's stdout and stderr are separate, and complete before the command is reported as ended",
    /its output is "out\\n" and its errors are ""/,
    mock((provider) => ({
      runInContainer: (ref, container, command, io, signal) =>
        provider.runInContainer?.(ref, container, command, { ...io, stderr: undefined }, signal) ?? forever,
    })),
  ],
  [
    "loses the exit code of a command",
    "a command's exit code is returned; after a signal it is 128 plus the signal's number",
    /exit 3/,
    mock((provider) => ({
      async runInContainer(ref, container, command, io, signal) {
        await provider.runInContainer?.(ref, container, command, io, signal);
        return { exitCode: 0 };
      },
    })),
  ],
  [
    "takes a command that was killed for one that ended well",
    "a command's exit code is returned; after a signal it is 128 plus the signal's number",
    /kill -9/,
    mock((provider) => ({
      async runInContainer(ref, container, command, io, signal) {
        const { exitCode } = (await provider.runInContainer?.(ref, container, command, io, signal)) ?? { exitCode: 0 };
        return { exitCode: exitCode > 128 && exitCode < 255 ? 0 : exitCode };
      },
    })),
  ],
  [
    "swallows a command's input",
    "a command reads its input to the end",
    /the command was sent 13 bytes, and read 0/,
    mock((provider) => ({
      runInContainer: (ref, container, command, io, signal) =>
        provider.runInContainer?.(ref, container, command, { ...io, stdin: undefined }, signal) ?? forever,
    })),
  ],
  [
    "does not tell a command where its input ends",
    "a command reads its input to the end",
    /has not come back/,
    hangingMock((provider) => ({
      runInContainer: async (ref, container, command, io, signal) =>
        (await provider.runInContainer?.(ref, container, command, { ...io, stdin: Readable.from(endless(io.stdin)) }, signal)) ?? {
          exitCode: 0,
        },
    })),
  ],
  [
    "ignores the abort of a command",
    "runInContainer returns when it is aborted, with the signal's reason or its result",
    /runInContainer, .* has not come back within 1000 ms/,
    hangingMock((provider) => ({
      runInContainer: (ref, container, command, io) => provider.runInContainer?.(ref, container, command, io, never) ?? forever,
    })),
  ],
  [
    "leaves a timer behind",
    "getPods returns when it is aborted, with the signal's reason or its result",
    /still open at the end: .*Timeout/,
    mock((provider) => ({
      getPods: (signal) => {
        setTimeout(() => {}, 20_000).ref();
        return provider.getPods(signal);
      },
    })),
  ],
  [
    "claims to reach ports that nothing listens on",
    "a port that nothing listens on is Unavailable",
    /portForward must throw UnavailableError where nothing listens/,
    mock(() => ({ portForward: async () => {} })),
  ],
  // Figures
  [
    "tells memory in KiB",
    "memory is reported in bytes",
    /workingSetBytes is \d{4}(\.\d+)? of a container that holds 4194304 bytes/,
    mock(withMemory((bytes) => bytes / 1024)),
  ],
  [
    "tells memory 1,024 times too large",
    "memory is reported in bytes",
    /workingSetBytes is \d{10} of a container that holds 4194304 bytes/,
    mock(withMemory((bytes) => bytes * 1024)),
  ],
  [
    "measures another pod",
    "a running pod has figures: CPU and memory of each container, by name",
    /the pod is not in the summary, which has \["another"\]/,
    mock((provider) => ({
      async getStatsSummary(signal) {
        const summary = (await provider.getStatsSummary?.(signal)) ?? { pods: [] };
        return { ...summary, pods: summary.pods.map((pod) => ({ ...pod, podRef: { ...pod.podRef, uid: "another" } })) };
      },
    })),
  ],
  [
    "measures processor time that falls",
    "a container's CPU time never decreases, and later measurements have later times",
    /usageCoreNanoSeconds fell/,
    mock((provider) => {
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
  ],
  [
    "measures once, and tells that for ever",
    "a container's CPU time never decreases, and later measurements have later times",
    /the container to be measured again: .*nothing was measured after/,
    mock((provider) => {
      let first: StatsSummary | undefined;
      return {
        async getStatsSummary(signal) {
          const now = await provider.getStatsSummary?.(signal);
          if (now && now.pods.length > 0) first ??= now;
          return first ?? { pods: [] };
        },
      };
    }),
  ],
];

function withMemory(change: (bytes: number) => number): Change {
  return (provider) => ({
    async getStatsSummary(signal) {
      const summary = (await provider.getStatsSummary?.(signal)) ?? { pods: [] };
      const pods = summary.pods.map((pod) => ({
        ...pod,
        containers: pod.containers.map(({ memory, ...rest }) => ({
          ...rest,
          ...(memory && { memory: { ...memory, workingSetBytes: change(memory.workingSetBytes ?? 0) } }),
        })),
      }));
      return { ...summary, pods };
    },
  });
}

async function* none(): AsyncGenerator<string, void, undefined> {}

/** The same, and then nothing, for ever. */
async function* endless<T>(stream: AsyncIterable<T> | undefined): AsyncGenerator<T, void, undefined> {
  if (stream) yield* stream;
  await forever;
}
