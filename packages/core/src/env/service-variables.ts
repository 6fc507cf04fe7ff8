import type { DeepReadonly, Service } from "@virtual-kubelet/kube-client";
import type { ApiServerForPods } from "../virtual-node/options.ts";
import type { ResolvedEnvVar } from "../provider/resolved-pod.ts";

/** Services for the variables of a pod. */
export interface ServiceChoice {
  /** The services of the namespace `default`; only `kubernetes` is used, by every pod. */
  readonly ofDefault: readonly DeepReadonly<Service>[];
  /** The services of the pod's own namespace; empty with `enableServiceLinks: false`. */
  readonly ofOwn: readonly DeepReadonly<Service>[];
  /** Replaces the address of the service `kubernetes` of any namespace, for pods that reach the API server in another way. */
  readonly apiServer?: ApiServerForPods | undefined;
}

/**
 * Returns the variables with the addresses of services, sorted by the service's name. Services without a cluster IP have
 * none; a service named `kubernetes` in the pod's namespace takes the place of the API server's.
 * Source: getServiceEnvVarMap and pkg/kubelet/envvars in kubernetes v1.36.3.
 */
export function serviceVariables({ ofDefault, ofOwn, apiServer }: ServiceChoice): ResolvedEnvVar[] {
  const master = ofDefault.filter((service) => service.metadata?.name === "kubernetes");
  const given = apiServer ? [serviceOf(apiServer)] : [];
  const byName = new Map([...master, ...ofOwn, ...given].filter(hasClusterIP).map((service) => [service.metadata?.name ?? "", service]));
  const names = [...byName.keys()].sort();
  return names.flatMap((name) => variablesOf(name, byName.get(name)?.spec ?? {}));
}

function variablesOf(serviceName: string, { clusterIP = "", ports = [] }: DeepReadonly<NonNullable<Service["spec"]>>): ResolvedEnvVar[] {
  const prefix = variableName(serviceName);
  const variables: ResolvedEnvVar[] = [{ name: `${prefix}_SERVICE_HOST`, value: clusterIP }];
  const [first] = ports;
  if (first) variables.push({ name: `${prefix}_SERVICE_PORT`, value: `${first.port}` });
  for (const { name, port } of ports) {
    if (name) variables.push({ name: `${prefix}_SERVICE_PORT_${variableName(name)}`, value: `${port}` });
  }
  for (const [index, { port, protocol }] of ports.entries()) {
    const scheme = (protocol || "TCP").toLowerCase();
    const url = `${scheme}://${clusterIP.includes(":") ? `[${clusterIP}]` : clusterIP}:${port}`;
    const portPrefix = `${prefix}_PORT_${port}_${scheme.toUpperCase()}`;
    if (index === 0) variables.push({ name: `${prefix}_PORT`, value: url });
    variables.push(
      { name: portPrefix, value: url },
      { name: `${portPrefix}_PROTO`, value: scheme },
      { name: `${portPrefix}_PORT`, value: `${port}` },
      { name: `${portPrefix}_ADDR`, value: clusterIP },
    );
  }
  return variables;
}

function serviceOf({ host, port = 443 }: ApiServerForPods): DeepReadonly<Service> {
  return { metadata: { name: "kubernetes" }, spec: { clusterIP: host, ports: [{ name: "https", port, protocol: "TCP" }] } };
}

function hasClusterIP({ spec }: DeepReadonly<Service>): boolean {
  return Boolean(spec?.clusterIP) && spec?.clusterIP !== "None";
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
