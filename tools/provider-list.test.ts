import { describe, expect, test } from "vitest";
import { folderProblems, parseProviderList, renderProviderList } from "./provider-list.ts";

const mock = '- name: "**Mock**: scripted pods"\n  tag: mock\n';

describe("parseProviderList", () => {
  test("reads our own providers and external ones", () => {
    const providers = parseProviderList(`${mock}- name: Elsewhere\n  tag: elsewhere\n  external: true\n  link: https://example.org/vk\n`);

    expect(providers).toEqual([
      { name: "**Mock**: scripted pods", tag: "mock", external: false, link: undefined },
      { name: "Elsewhere", tag: "elsewhere", external: true, link: "https://example.org/vk" },
    ]);
  });

  test.each([
    ["a missing tag", "- name: Mock\n", "provider.yaml: [0].tag is missing; expected a folder name under providers/, such as mock"],
    [
      "a tag that is no folder name",
      "- name: Mock\n  tag: Mock It\n",
      'provider.yaml: [0].tag is "Mock It"; expected a folder name under providers/, such as mock',
    ],
    [
      "a tag of the wrong type",
      "- name: Mock\n  tag: 3\n",
      "provider.yaml: [0].tag is 3; expected a folder name under providers/, such as mock",
    ],
    ["an empty name", "- name: ''\n  tag: mock\n", 'provider.yaml: [0].name is ""; expected text in Markdown'],
    ["a name that breaks the table", "- name: a|b\n  tag: mock\n", 'provider.yaml: [0].name is "a|b"; expected one line without `|`'],
    ["a tag used twice", mock + mock, 'provider.yaml: [1].tag is "mock"; expected a tag that no other entry has'],
    [
      "an external provider without a link",
      `${mock}  external: true\n`,
      "provider.yaml: [0].link is missing; expected an https address, as external is true",
    ],
    [
      "a link on one of ours",
      `${mock}  link: https://example.org\n`,
      'provider.yaml: [0].link is "https://example.org"; expected no link, as external is not true',
    ],
    [
      "a link that is no https address",
      `${mock}  external: true\n  link: ftp://example.org\n`,
      'provider.yaml: [0].link is "ftp://example.org"; expected an https address',
    ],
    ["external that is no boolean", `${mock}  external: maybe\n`, 'provider.yaml: [0].external is "maybe"; expected true or false'],
    [
      "an unknown field",
      `${mock}  nmae: x\n`,
      'provider.yaml: [0] is {"name":"**Mock**: scripted pods","tag":"mock","nmae":"x"}; expected only name, tag, external and link',
    ],
    ["a mapping at the top", "mock: {}\n", 'provider.yaml: the top is {"mock":{}}; expected a list of mappings with name and tag'],
    ["text for an entry", "- mock\n", 'provider.yaml: [0] is "mock"; expected a mapping with name and tag'],
  ])("answers %s with one line of field, value and expectation", (_what, text, message) => {
    expect(() => parseProviderList(text)).toThrow(new Error(message));
  });

  test("answers broken YAML with one line", () => {
    expect(() => parseProviderList("- name: [\n")).toThrow(/^provider\.yaml is not YAML: [^\n]+ at line \d+, column \d+$/);
  });
});

describe("folderProblems", () => {
  const providers = parseProviderList(`${mock}- name: Elsewhere\n  tag: elsewhere\n  external: true\n  link: https://example.org/vk\n`);

  test("accepts a folder for each of our own entries", () => {
    expect(folderProblems(providers, ["mock"])).toEqual([]);
  });

  test("names a folder without an entry", () => {
    expect(folderProblems(providers, ["docker", "mock"])).toEqual([
      "providers/docker has no entry in provider.yaml; add one with `tag: docker`",
    ]);
  });

  test("names an entry without a folder", () => {
    expect(folderProblems(providers, [])).toEqual([
      "provider.yaml lists mock, but there is no folder providers/mock; set `external: true` with a link, or remove the entry",
    ]);
  });
});

test("the list is a table whose links start at the page", () => {
  expect(renderProviderList(parseProviderList(mock), "../../")).toBe(
    "| Provider | `--provider` | Package |\n| --- | --- | --- |\n| **Mock**: scripted pods | `mock` | [`@virtual-kubelet/provider-mock`](../../providers/mock/README.md) |",
  );
});
