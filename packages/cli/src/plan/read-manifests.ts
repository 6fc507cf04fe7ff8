import type { ConfigMap, KubernetesObject, Pod, Secret } from "@virtual-kubelet/kube-client";
import { resolve } from "node:path";
import { readText } from "../config/read-file.ts";
import { ConfigError } from "../program-error.ts";

/** Pods in manifests, and the objects they refer to. */
export interface Manifests {
  readonly pods: readonly Pod[];
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
}

/** Reads manifest files, YAML or JSON, with any number of objects. @throws ConfigError on one line */
export async function readManifests(files: readonly string[], cwd: string): Promise<Manifests> {
  const found: { pods: Pod[]; configMaps: ConfigMap[]; secrets: Secret[] } = { pods: [], configMaps: [], secrets: [] };
  for (const file of files) {
    for (const object of await readObjects(file, cwd)) {
      if (object.kind === "Pod") found.pods.push(object);
      else if (object.kind === "ConfigMap") found.configMaps.push(object);
      else if (object.kind === "Secret") found.secrets.push(object);
      else
        throw new ConfigError(
          `--filename: ${JSON.stringify(file)}: kind is ${JSON.stringify(object.kind)}, expected Pod, ConfigMap or Secret`,
        );
    }
  }
  if (found.pods.length > 0) return found;
  throw new ConfigError(`--filename: ${files.map((file) => JSON.stringify(file)).join(", ")}: no object of kind Pod, expected one`);
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
