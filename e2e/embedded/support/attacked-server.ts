/**
 * A node's HTTPS server in its own process, which a test may bring down. Every pod `POD` of every namespace `NS` runs there. The header
 * `x-user` authenticates a caller. Sends its parent the port, and answers each message of the parent with its resource usage.
 */
import { once } from "node:events";
import type { ContainerAccess } from "@virtual-kubelet/core";
import type { LogFields, Logger } from "@virtual-kubelet/kube-client";
import { startKubeletServer, type AccessControl, type ServerLimits } from "@virtual-kubelet/kubelet-api";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { fakeNode, fakePod } from "../../../packages/kubelet-api/src/test-support/fake-node.ts";

/** Message of the process when it listens. */
export interface AttackedServerAddress {
  readonly port: number;
  readonly ca: string;
}

/** Resource usage of the process. */
export interface Usage {
  readonly heapMiB: number;
  readonly rssMiB: number;
  /** Running execs, attaches and followed logs of the provider. */
  readonly running: number;
  /** Pending calls of the provider's `portForward`. */
  readonly dials: number;
  /** Warnings in the log: fields and message. */
  readonly warnings: readonly (LogFields & { readonly message: string })[];
}

const warnings: (LogFields & { readonly message: string })[] = [];
let running = 0;
let dials = 0;

const containers: ContainerAccess = {
  getContainerLogs: async (_pod, _container, { follow }, signal) => ({
    data: lines(),
    live: follow ? silence(signal) : undefined,
  }),
  /** The command `true` exits at once; every other command runs forever. */
  runInContainer: async (_pod, _container, [program], _io, signal) => (program === "true" ? { exitCode: 0 } : untilAborted(signal)),
  attachToContainer: async (_pod, _container, _io, signal) => {
    await untilAborted(signal);
  },
  /** Port 80 accepts but never responds; port 81 also ignores the abort signal while dialling; port 82 sends without end. */
  portForward: async (_pod, port, stream, signal) => {
    dials++;
    try {
      if (port === 81) await new Promise(() => {});
      const block = Buffer.alloc(65_536, "x");
      while (port === 82 && !signal.aborted) if (!stream.write(block)) await once(stream, "drain", { signal });
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
    } finally {
      dials--;
    }
  },
};

async function* lines(): AsyncGenerator<string> {
  yield "a line\n";
}

async function* silence(signal: AbortSignal): AsyncGenerator<string> {
  yield* [];
  await untilAborted(signal);
}

async function untilAborted(signal: AbortSignal): Promise<{ exitCode: number }> {
  running++;
  try {
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    running--;
  }
  throw signal.reason;
}

const accessControl: AccessControl = {
  authenticate: async ({ headers }) => {
    const name = headers["x-user"];
    return typeof name === "string" ? { name, groups: [] } : undefined;
  },
  authorize: async () => ({ allowed: true }),
};

const ignore = (): void => {};
const logger: Logger = {
  debug: ignore,
  info: ignore,
  warn: (fields, message) => void warnings.push({ ...fields, message }),
  error: (fields, message) => void warnings.push({ ...fields, message }),
  child: () => logger,
};

const names = Array.from({ length: 40 }, (_, index) => index);
const refs = names.flatMap((namespace) => names.map((name) => ({ namespace: `ns-${namespace}`, name: `pod-${name}` })));
const pods = refs.map((ref) => fakePod({ metadata: { ...ref, uid: `${ref.namespace}-${ref.name}` } }));

const authority = createCertificateAuthority("test");
const tls = authority.issue({ commonName: "n1", names: ["127.0.0.1"], usages: ["server auth"] });
const server = await startKubeletServer({
  nodes: [fakeNode({ pods, provider: containers })],
  host: "127.0.0.1",
  port: 0,
  accessControl,
  certificate: { current: () => tls, onChange: () => ({ [Symbol.dispose]: ignore }) },
  logger,
  limits: JSON.parse(process.argv[2] ?? "{}") as ServerLimits,
});

process.on("message", () => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ heapMiB: heapUsed / 2 ** 20, rssMiB: rss / 2 ** 20, running, dials, warnings: warnings.splice(0) } satisfies Usage);
});
process.send?.({ port: server.port, ca: authority.certificate } satisfies AttackedServerAddress);
