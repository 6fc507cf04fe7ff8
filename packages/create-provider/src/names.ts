import { kinds } from "./kind.ts";

/** Names and aliases of the project's own providers, which `--provider` already accepts. */
const taken: readonly string[] = ["mock", "docker", "nomad", "zun", "openstack", "template"];

/** Why a kind of provider is invalid; `undefined` if it is valid. */
export function kindProblem(kind: string): string | undefined {
  return kinds.some((known) => known === kind) ? undefined : `expected ${kinds.join(" or ")}`;
}

/** Why a provider's name is invalid; `undefined` if it is valid. */
export function nameProblem(name: string): string | undefined {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || name.length > 40)
    return "expected lower-case letters, digits and single dashes, 40 at most, a letter first, such as my-cloud";
  return taken.includes(name) ? "a provider of that name already exists, expected another name" : undefined;
}

/** Why an npm package's name is invalid; `undefined` if it is valid. Source: validate-npm-package-name. */
export function packageProblem(name: string): string | undefined {
  const part = "[a-z0-9~-][a-z0-9._~-]*";
  return new RegExp(`^(@${part}/)?${part}$`).test(name) && name.length <= 214 && name !== "node_modules"
    ? undefined
    : "expected the name of an npm package, such as virtual-kubelet-provider-my-cloud or @me/my-cloud";
}

/** Why a description is invalid; `undefined` if it is valid. It is used in Markdown, in JSON and in comments. */
export function descriptionProblem(description: string): string | undefined {
  const isPlain = /^[^\p{Cc}`\\<>|]+$/u.test(description) && !description.includes("*/");
  return isPlain && description.length <= 200 && description.trim() === description
    ? undefined
    : "expected one line of plain text, 200 characters at most";
}
