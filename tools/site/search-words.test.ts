import { expect, test } from "vitest";
import { wordsOf } from "./search-words.ts";

test.for([
  ["--kubelet-port=10250", ["kubelet-port", "kubelet", "port", "10250"]],
  ["nodes[].orphans.grace", ["nodes[].orphans.grace", "nodes", "orphans", "grace"]],
  ["vk_orphans", ["vk_orphans", "vk", "orphans"]],
  ["CreateContainerError", ["createcontainererror", "create", "container", "error"]],
  ["virtual-kubelet.io/provider", ["virtual-kubelet.io/provider", "virtual", "kubelet", "io", "provider"]],
  ["Orphans are removed.", ["orphans", "are", "removed"]],
] as const)("%s is found as a whole and by its parts", ([text, words]) => {
  expect(wordsOf(text)).toEqual(words);
});

test("what is no word is left out", () => {
  expect(wordsOf("— | ** … $ --")).toEqual([]);
});
