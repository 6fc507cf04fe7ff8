import { kinds } from "./kind.ts";

/** Names and aliases of the project's own providers: what `--provider` takes already. */
const taken: readonly string[] = ["mock", "docker", "nomad", "zun", "openstack", "template"];

/** What is wrong with a kind of provider; `undefined` if nothing is. */
export function kindProblem(kind: string): string | undefined {
  return kinds.some((known) => known === kind) ? undefined : `expected ${kinds.join(" or ")}`;
}

/** What is wrong with a provider's name; `undefined` if nothing is. */
export function nameProblem(name: string): string | undefined {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || name.length > 40)
    return "expected lower-case letters, digits and single dashes, 40 at most, a letter first, such as my-cloud";
  return taken.includes(name) ? "there is a provider of that name already, expected another name" : undefined;
}

/** What is wrong with an npm package's name; `undefined` if nothing is. Source: validate-npm-package-name. */
export function packageProblem(name: string): string | undefined {
  const part = "[a-z0-9~-][a-z0-9._~-]*";
  return new RegExp(`^(@${part}/)?${part}$`).test(name) && name.length <= 214 && name !== "node_modules"
    ? undefined
    : "expected the name of an npm package, such as virtual-kubelet-provider-my-cloud or @me/my-cloud";
}

/** What is wrong with a description; `undefined` if nothing is. It ends up in Markdown, in JSON and in comments. */
export function descriptionProblem(description: string): string | undefined {
  const isPlain = /^[^\p{Cc}`\\<>|]+$/u.test(description) && !description.includes("*/");
  return isPlain && description.length <= 200 && description.trim() === description
    ? undefined
    : "expected one line of plain text, 200 characters at most";
}
