import { ensureControlPlane, findControlPlane, type ControlPlaneProgram } from "@virtual-kubelet/testing";
import { join } from "node:path";
import { ensureControllerRuntime } from "../controller-runtime.ts";
import { helm, logShipper, metricsServer, prometheusParser, promqlParser, promtail, promtool, upstreamE2e } from "../go-program.ts";
import { makeApiServerContext, makeImageContext } from "../image-context.ts";
import { ensureKubernetesE2e } from "../kubernetes-e2e.ts";
import { moto } from "../moto.ts";
import { pythonClient } from "../python-client.ts";
import { ensurePackages } from "../python-environment.ts";
import { zunApi } from "../zun-api.ts";

/** Environment variables that name programs. */
type Programs = Readonly<Record<string, string>>;

/** Memoizes an asynchronous function, so that levels share builds. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined;
  return () => (promise ??= work());
}

/** Environment variables with which tests find these programs, which are built first if needed. Default: all programs of the control plane. */
async function controlPlanePrograms(programs?: readonly ControlPlaneProgram[]): Promise<{ readonly KUBEBUILDER_ASSETS: string }> {
  return { KUBEBUILDER_ASSETS: await ensureControlPlane({ programs, onBuild: (how) => console.log(how) }) };
}

/** Environment variables with which tests find kubectl. If it cannot be built, kubectl on the PATH is used. */
export const kubectl: () => Promise<Programs> = once(async (): Promise<Programs> => {
  const named = Boolean(process.env["KUBECTL"]);
  return named || findControlPlane({ programs: ["kubectl"] }).status === "missing" ? {} : await controlPlanePrograms(["kubectl"]);
});

/** Environment variables with which tests find etcd, kube-apiserver, its controllers and kubectl. */
export const controlPlane: () => Promise<Programs> = once(async (): Promise<Programs> => {
  // Concurrent builds would compile shared packages twice.
  await kubectl();
  return await controlPlanePrograms();
});

/** As {@link controlPlane}, with metrics-server. */
export const controlPlaneAndMetrics: () => Promise<Programs> = once(async (): Promise<Programs> => {
  return { ...(await controlPlane()), METRICS_SERVER: await metricsServer.ensure() };
});

/** As {@link controlPlaneAndMetrics}, with Prometheus' parser, two log shippers and kube-proxy. */
export const dockerPrograms: () => Promise<Programs> = once(async (): Promise<Programs> => {
  const programs = await controlPlaneAndMetrics();
  // Sequential, because each build uses all processors.
  return {
    ...programs,
    PROMETHEUS_PARSER: await prometheusParser.ensure(),
    LOG_SHIPPER: await logShipper.ensure(),
    PROMTAIL: await promtail.ensure(),
    KUBE_PROXY: await kubeProxy(),
  };
});

/** Path of kube-proxy, which `KUBE_PROXY` may name. */
async function kubeProxy(): Promise<string> {
  return process.env["KUBE_PROXY"] || join((await controlPlanePrograms(["kube-proxy"])).KUBEBUILDER_ASSETS, "kube-proxy");
}

/** As {@link controlPlaneAndMetrics}, with upstream's end-to-end suite. */
export const nodeNetwork: () => Promise<Programs> = once(async (): Promise<Programs> => {
  return { ...(await controlPlaneAndMetrics()), UPSTREAM_E2E: await upstreamE2e.ensure() };
});

/** Builds controller-runtime's suites, and installs Kubernetes' Python client. */
export const upstreamPrograms: () => Promise<void> = once(async () => {
  await ensureControllerRuntime();
  await ensurePackages(pythonClient);
});

/** Environment variables with which tests find kubectl and Kubernetes' own end-to-end tests. */
export const kubernetesE2e: () => Promise<Programs> = once(async (): Promise<Programs> => {
  // Sequential, because each build uses all processors.
  return { ...(await kubectl()), KUBERNETES_E2E: (await ensureKubernetesE2e()).directory };
});

/** Environment variables with which tests find promtool and the parser of PromQL. */
export const monitoringPrograms: () => Promise<Programs> = once(async (): Promise<Programs> => {
  // Sequential, because each build uses all processors.
  return { PROMTOOL: await promtool.ensure(), PROMQL_PARSER: await promqlParser.ensure() };
});

/** As {@link controlPlane}, with Helm, the packed program and the packed embedded API server. */
export const deployment: () => Promise<Programs> = once(async (): Promise<Programs> => {
  const programs = { ...(await controlPlane()), HELM: await helm.ensure() };
  return { ...programs, IMAGE_CONTEXT: (await makeImageContext()).folder, APISERVER_IMAGE_CONTEXT: (await makeApiServerContext()).folder };
});

/** Environment variables with which tests find a Python that has Zun's API, or moto. */
export const zunPython: () => Promise<Programs> = once(async (): Promise<Programs> => ({
  [zunApi.variable]: await ensurePackages(zunApi),
}));
export const motoPython: () => Promise<Programs> = once(async (): Promise<Programs> => ({ [moto.variable]: await ensurePackages(moto) }));
