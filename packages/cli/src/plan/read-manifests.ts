import type { ConfigMap, KubernetesObject, Pod, Secret } from "@virtual-kubelet/kube-client";
import { resolve } from "node:path";
import { readText } from "../config/read-file.ts";
import { ConfigError } from "../program-error.ts";
import { isWorkload, type Workload, workloadKinds } from "./workloads.ts";

/** Pods and workloads in manifests, and the objects they refer to. */
export interface Manifests {
  /** Pods, and workloads that make pods, in the order of the files. */
  readonly planned: readonly (Pod | Workload)[];
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  /** Other objects, such as Services, which no plan shows. */
  readonly others: readonly KubernetesObject[];
}

/** Reads manifest files, YAML or JSON, with any number of objects. @throws ConfigError on one line */
export async function readManifests(files: readonly string[], cwd: string): Promise<Manifests> {
  const found: { planned: (Pod | Workload)[]; configMaps: ConfigMap[]; secrets: Secret[]; others: KubernetesObject[] } = {
    planned: [],
    configMaps: [],
    secrets: [],
    others: [],
  };
  for (const file of files) {
    for (const object of await readObjects(file, cwd)) {
      if (object.kind === "Pod" || isWorkload(object)) found.planned.push(object);
      else if (object.kind === "ConfigMap") found.configMaps.push(object);
      else if (object.kind === "Secret") found.secrets.push(object);
      else found.others.push(object);
    }
  }
  if (found.planned.length > 0) return found;
  const kinds = [...new Set(found.others.map(({ kind }) => JSON.stringify(kind)))];
  throw new ConfigError(
    `--filename: ${files.map((file) => JSON.stringify(file)).join(", ")}: ${kinds.length > 0 ? `kind is ${kinds.join(", ")}` : "no pod"}, expected a Pod, or a workload that makes pods: ${workloadKinds.join(", ")}`,
  );
}

async function readObjects(file: string, cwd: string): Promise<readonly KubernetesObject[]> {
  const text = await readText({ path: resolve(cwd, file), shown: file, setting: "--filename" });
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text);
  const broken = Array.from(documents).flatMap(({ errors }) => errors)[0];
  if (broken) throw new ConfigError(`--filename: ${JSON.stringify(file)}: ${broken.message.split("\n", 1)[0]?.replace(/:$/, "")}`);
  return Array.from(documents, (document) => document.toJS() as unknown).flatMap((value) => objectsIn(value, file));
}

function objectsIn(value: unknown, file: string): readonly KubernetesObject[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Array.isArray(value))
    throw new ConfigError(`--filename: ${JSON.stringify(file)}: holds ${JSON.stringify(value)}, expected objects with apiVersion and kind`);
  const object = value as KubernetesObject & { readonly items?: unknown };
  return object.kind === "List" && Array.isArray(object.items) ? object.items.flatMap((item) => objectsIn(item, file)) : [object];
}
