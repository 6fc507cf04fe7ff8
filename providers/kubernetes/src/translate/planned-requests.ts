import { podRef, type PlanContext, type PlannedRequest, type ResolvedPod } from "@virtual-kubelet/core";
import {
  resources,
  type DeepReadonly,
  type KubernetesObject,
  type OwnerReference,
  type Pod,
  type Resource,
} from "@virtual-kubelet/kube-client";
import type { CarriedReference } from "../carry/carried.ts";
import { readHomeObject, readPodFiles, tokenSecretError, type Content } from "../carry/content.ts";
import { copyOf, newObject, podSecretOf, resourceOf } from "../carry/far-object.ts";
import type { KubernetesConfig } from "../config.ts";
import { newOwnerObject, referenceTo } from "../far/owner-objects.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import { farPodOf } from "./far-pod.ts";
import type { TranslationContext } from "./scope.ts";
import { readFacts } from "./translation-facts.ts";

/** What stands for a namespace that only the kubeconfig names. */
const contextNamespace = "{namespace of the context}";

/**
 * Returns the requests that a pod's creation sends to the far cluster, in order.
 *
 * @throws what the creation throws for a pod that cannot travel
 */
export async function plannedRequests(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { nodeName, clusterId, config }: PlanContext<KubernetesConfig>,
  signal: AbortSignal,
): Promise<readonly PlannedRequest[]> {
  const owner = { clusterId, nodeName };
  const namespaces = namespaceMap(config.namespaces, contextNamespace);
  const context: TranslationContext = { owner, config, namespaces };
  const { pod: far, carried, notes } = farPodOf(pod, await readFacts(pod, resolved, context, signal), context);
  const namespace = namespaces.toFar(podRef(pod).namespace);
  const ownerObject = newOwnerObject(owner, namespace);
  const reference = referenceTo({ ...ownerObject, metadata: { ...ownerObject.metadata, uid: "{uid of that object}" } });
  const copies: PlannedRequest[] = [];
  for (const home of carried.references) copies.push(...(await plannedCopy(home, resolved, { context, namespace, reference }, signal)));
  const files =
    carried.files.length === 0
      ? []
      : [newObject(podSecretOf(owner, podRef(pod), namespace), await readPodFiles(resolved, carried.files, signal), reference)];
  return [
    ...(namespaces.creates
      ? [
          post(
            resources.namespaces,
            { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
            {
              purpose: "make the namespace",
              note: "only where it is missing",
            },
          ),
        ]
      : []),
    post(resources.configMaps, ownerObject, { purpose: "make the owner of all that the node has there", note: "only where it is missing" }),
    ...copies,
    ...files.map((secret) => post(resources.secrets, secret, { purpose: "make the secret with the pod's own files" })),
    post(
      resources.pods,
      { ...far, metadata: { ...far.metadata, ownerReferences: [reference] } },
      {
        purpose: "make the pod",
        note: notes.length === 0 ? undefined : notes.map(({ message }) => message).join("; "),
      },
    ),
  ];
}

interface CopyPlan {
  readonly context: TranslationContext;
  readonly namespace: string;
  readonly reference: OwnerReference;
}

async function plannedCopy(
  home: CarriedReference,
  resolved: ResolvedPod,
  { context, namespace, reference }: CopyPlan,
  signal: AbortSignal,
): Promise<readonly PlannedRequest[]> {
  const copy = copyOf(context.owner, home, namespace);
  const content = await readHomeObject(resolved, home, signal);
  if (content === "refused") throw tokenSecretError(copy.title, home.fieldPath);
  if (!content) return [];
  const planned: Content = { ...content, version: "{uid and resourceVersion of the original}" };
  return [
    post(resourceOf(home.kind), newObject(copy, planned, reference), {
      purpose: `copy ${copy.title}`,
      note: "a patch where the node has a copy of it",
    }),
  ];
}

function post<T extends KubernetesObject>(
  { plural, namespaced }: Resource<T>,
  body: T,
  texts: Pick<PlannedRequest, "purpose" | "note">,
): PlannedRequest {
  const folder = namespaced ? `/api/v1/namespaces/${body.metadata?.namespace}` : "/api/v1";
  return { ...texts, method: "POST", path: `${folder}/${plural}`, body };
}
