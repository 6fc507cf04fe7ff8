import { ApiException, CoreV1Api, makeInformer, type KubeConfig, type V1Namespace } from "@kubernetes/client-node";

const label = "team";
const retryMs = 200;

/** Keeps a config map `team` in every namespace that has the label `team`, until the signal aborts. */
export async function runOperator(config: KubeConfig, signal: AbortSignal): Promise<void> {
  const api = config.makeApiClient(CoreV1Api);
  const list = () => api.listNamespace({ labelSelector: label });
  const informer = makeInformer<V1Namespace>(config, "/api/v1/namespaces", list, label);

  /** Does the work, again and again until it succeeds. */
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    if (signal.aborted) return;
    await work().catch(() => later(work));
  };
  const later = (work: () => Promise<void>) => setTimeout(() => void attempt(work), retryMs);

  informer.on("add", (namespace) => void attempt(() => writeConfigMap(api, namespace)));
  informer.on("update", (namespace) => void attempt(() => writeConfigMap(api, namespace)));
  informer.on("error", () => later(() => informer.start()));
  signal.addEventListener("abort", () => void informer.stop());
  await attempt(() => informer.start());
}

async function writeConfigMap(api: CoreV1Api, { metadata }: V1Namespace): Promise<void> {
  const namespace = metadata?.name ?? "";
  const body = { metadata: { name: label }, data: { team: metadata?.labels?.[label] ?? "" } };
  try {
    await api.createNamespacedConfigMap({ namespace, body });
  } catch (error) {
    if (!(error instanceof ApiException && error.code === 409)) throw error;
    await api.replaceNamespacedConfigMap({ name: label, namespace, body });
  }
}
