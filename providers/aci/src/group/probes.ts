import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { GroupProbe } from "../azure/container-group.ts";
import { unsupported, type PlacedContainer } from "./fields.ts";

type Probe = DeepReadonly<NonNullable<Container["livenessProbe"]>>;

/**
 * Translates a container's probe of one kind; `undefined` if it has none.
 *
 * @throws UnsupportedError or InvalidInputError with the field
 */
export function probeOf({ path, container }: PlacedContainer, kind: "livenessProbe" | "readinessProbe"): GroupProbe | undefined {
  const probe = container[kind];
  if (!probe) return undefined;
  const at = `${path}.${kind}`;
  for (const handler of ["tcpSocket", "grpc"] as const)
    if (probe[handler]) throw unsupported(`${at}.${handler}`, "probes are by command or by HTTP");
  if (probe.terminationGracePeriodSeconds !== undefined)
    throw unsupported(`${at}.terminationGracePeriodSeconds`, "Azure Container Instances has no such setting");
  return {
    ...handlerOf(probe, at, container),
    ...(probe.initialDelaySeconds !== undefined && { initialDelaySeconds: probe.initialDelaySeconds }),
    ...(probe.periodSeconds !== undefined && { periodSeconds: probe.periodSeconds }),
    ...(probe.failureThreshold !== undefined && { failureThreshold: probe.failureThreshold }),
    ...(probe.successThreshold !== undefined && { successThreshold: probe.successThreshold }),
    ...(probe.timeoutSeconds !== undefined && { timeoutSeconds: probe.timeoutSeconds }),
  };
}

function handlerOf({ exec, httpGet }: Probe, at: string, { ports = [] }: DeepReadonly<Container>): Pick<GroupProbe, "exec" | "httpGet"> {
  if (exec) return { exec: { command: exec.command ?? [] } };
  if (!httpGet) throw new InvalidInputError(`${at}: expected exec or httpGet`);
  if (httpGet.host) throw unsupported(`${at}.httpGet.host`, "probes go to the container itself");
  return {
    httpGet: {
      path: httpGet.path ?? "/",
      port: portOf(httpGet.port, ports, at),
      scheme: httpGet.scheme?.toUpperCase() === "HTTPS" ? "https" : "http",
      ...(httpGet.httpHeaders?.length && { httpHeaders: httpGet.httpHeaders.map(({ name, value }) => ({ name, value })) }),
    },
  };
}

function portOf(port: number | string, ports: DeepReadonly<NonNullable<Container["ports"]>>, at: string): number {
  const number = typeof port === "number" || /^\d+$/.test(port) ? Number(port) : ports.find(({ name }) => name === port)?.containerPort;
  if (number === undefined) throw new InvalidInputError(`${at}.httpGet.port: the container has no port named "${port}"`);
  return number;
}
