import type { ProviderHost } from "@virtual-kubelet/core";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/**
 * Counts the runtime's calls, their durations and failures in a kubelet's metrics.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/kuberuntime/instrumented_services.go. Logs, attach and port-forward are left out, because they
 * last as long as the client wants; the node's server counts them.
 *
 * @param runtime - an object whose methods are own properties, as from `withDeadlines`
 */
export function withMeasurements(runtime: ContainerRuntime, { clock, metrics }: Pick<ProviderHost, "clock" | "metrics">): ContainerRuntime {
  async function measure<T>(operation: string, call: Promise<T>): Promise<T> {
    const labels = { operation_type: operation };
    const startedMs = clock.monotonic();
    metrics.count("kubelet_runtime_operations_total", labels);
    try {
      return await call;
    } catch (error) {
      metrics.count("kubelet_runtime_operations_errors_total", labels);
      throw error;
    } finally {
      metrics.observe("kubelet_runtime_operations_duration_seconds", (clock.monotonic() - startedMs) / 1000, labels);
    }
  }
  const network = runtime.network?.bind(runtime);
  const ping = runtime.ping?.bind(runtime);
  return {
    ...runtime,
    ...(ping && { ping: (signal) => measure("status", ping(signal)) }),
    createSandbox: (spec, signal) => measure("run_podsandbox", runtime.createSandbox(spec, signal)),
    stopSandbox: (id, signal) => measure("stop_podsandbox", runtime.stopSandbox(id, signal)),
    removeSandbox: (id, signal) => measure("remove_podsandbox", runtime.removeSandbox(id, signal)),
    inspectSandbox: (id, signal) => measure("podsandbox_status", runtime.inspectSandbox(id, signal)),
    createContainer: (sandboxId, spec, signal) => measure("create_container", runtime.createContainer(sandboxId, spec, signal)),
    startContainer: (id, signal) => measure("start_container", runtime.startContainer(id, signal)),
    stopContainer: (id, options, signal) => measure("stop_container", runtime.stopContainer(id, options, signal)),
    killContainer: (id, signal) => measure("stop_container", runtime.killContainer(id, signal)),
    removeContainer: (id, signal) => measure("remove_container", runtime.removeContainer(id, signal)),
    resizeContainer: (id, limits, signal) => measure("update_container", runtime.resizeContainer(id, limits, signal)),
    inspectContainer: (id, signal) => measure("container_status", runtime.inspectContainer(id, signal)),
    list: (labels, signal) => measure("list_containers", runtime.list(labels, signal)),
    inspectImage: (image, signal) => measure("image_status", runtime.inspectImage(image, signal)),
    pullImage: (image, credentials, signal) => measure("pull_image", runtime.pullImage(image, credentials, signal)),
    exec: (id, command, io, signal) => measure("exec_sync", runtime.exec(id, command, io, signal)),
    stats: (id, signal) => measure("container_stats", runtime.stats(id, signal)),
    ...(network && { network: (id, signal) => measure("podsandbox_stats", network(id, signal)) }),
  };
}
