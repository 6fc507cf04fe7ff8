import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { grpcCheck } from "./grpc-check.ts";
import { httpCheck } from "./http-check.ts";
import type { ProbeAttempt } from "./prober.ts";
import type { ProbeSpec } from "./probe-schedule.ts";
import { tcpCheck } from "./tcp-check.ts";
import { execCapture } from "../runtime/exec-capture.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/** Target of a probe. */
export interface ProbeTarget {
  readonly runtime: Pick<ContainerRuntime, "exec">;
  /** The runtime's id of the instance. */
  readonly id: string;
  readonly container: DeepReadonly<Container>;
  /** The pod's address, for probes without a host. */
  readonly podIP: string | undefined;
  /**
   * Address of a port of the pod; `undefined` while it is unknown. Other ports of that host may belong to others, so redirects to them are
   * not followed. Default: the port at the pod's address.
   */
  readonly endpointOf?: ((port: number) => Endpoint | undefined) | undefined;
}

/** Where a probe connects to. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * Makes one attempt of a probe.
 *
 * @throws InvalidInputError for a probe without an action, a port without a number, a pod without an address
 */
export async function probeOnce(spec: ProbeSpec, target: ProbeTarget, signal: AbortSignal): Promise<ProbeAttempt> {
  const { exec, httpGet, tcpSocket, grpc } = spec;
  if (exec) {
    const { exitCode, output } = await execCapture(target.runtime, target.id, { command: exec.command ?? [], signal });
    return { isSuccess: exitCode === 0, output };
  }
  if (httpGet) {
    const isOnePort = Boolean(target.endpointOf) && !httpGet.host;
    return httpCheck({ url: httpUrl(httpGet, target), headers: httpGet.httpHeaders ?? [], isOnePort }, signal);
  }
  if (tcpSocket) return tcpCheck(endpointOf(tcpSocket, target), signal);
  if (grpc) return grpcCheck({ ...endpointOf({ port: grpc.port }, target), service: grpc.service ?? "" }, signal);
  throw new InvalidInputError(`probe container ${target.container.name}: it has none of exec, httpGet, tcpSocket and grpc`);
}

/** The URL of an HTTP probe or hook. */
export function httpUrl(action: NonNullable<ProbeSpec["httpGet"]>, target: ProbeTarget): URL {
  const { host, port } = endpointOf(action, target);
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const path = action.path || "/";
  return new URL(`${(action.scheme || "HTTP").toLowerCase()}://${authority}${path.startsWith("/") ? path : `/${path}`}`);
}

function endpointOf(
  action: { readonly host?: string | undefined; readonly port: number | string },
  { container, podIP, endpointOf: mapped }: ProbeTarget,
): Endpoint {
  const port = portNumber(action.port, container);
  if (action.host) return { host: action.host, port };
  const endpoint = mapped ? mapped(port) : podIP === undefined ? undefined : { host: podIP, port };
  if (!endpoint) throw new InvalidInputError(`probe container ${container.name}: the pod has no address`);
  return endpoint;
}

/** Number of a port, which may be named in the container. @throws InvalidInputError for an unknown name */
export function portNumber(port: number | string, container: DeepReadonly<Container>): number {
  const found = typeof port === "number" ? port : container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = found ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new InvalidInputError(
    `probe container ${container.name}: ${JSON.stringify(port)} is neither a port nor the name of one of its ports`,
  );
}
