import { codeOf } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { NomadClient } from "./nomad-client.ts";
import type { NomadHttp, NomadRequest } from "./nomad-http.ts";
import { ObjectReader } from "./object-reader.ts";

const { signal } = new AbortController();

/** Most requests that a test answers. */
const maxRequests = 1000;

/** Lists jobs from pages of one job each. @param nextTokenOf - the next token of a page, by its number from 1 on */
async function listJobs(
  nextTokenOf: (page: number) => string | undefined,
): Promise<{ ids: unknown; tokens: unknown[] } | { error: unknown; requests: number }> {
  const tokens: unknown[] = [];
  const http = {
    json: async ({ query }: NomadRequest) => {
      const page = tokens.push(query?.["next_token"]);
      const job = { ID: `vk-${page}`, Namespace: "default", CreateIndex: page, JobModifyIndex: page };
      return { body: [job], index: page, nextToken: page < maxRequests ? nextTokenOf(page) : undefined };
    },
  } as unknown as NomadHttp;
  const client = new NomadClient(http, new ObjectReader({ logger: silentLogger, metrics: noMetrics }), "default");
  try {
    const { items, index } = await client.listJobs("", signal);
    expect(index).toBe(1);
    return { ids: items.map(({ ID }) => ID), tokens };
  } catch (error) {
    return { error, requests: tokens.length };
  }
}

test("a list is read page by page, as long as each names the next one", async () => {
  expect(await listJobs((page) => (page < 3 ? `t${page}` : undefined))).toEqual({
    ids: ["vk-1", "vk-2", "vk-3"],
    tokens: [undefined, "t1", "t2"],
  });
});

test.for<[string, (page: number) => string | undefined, number, string]>([
  ["names one next page for ever", () => "same", 2, "list jobs: Nomad returned the same next page twice"],
  ["goes round in a circle", (page) => `t${page % 3}`, 4, "list jobs: Nomad returned the same next page twice"],
  ["has no end", (page) => `t${page}`, 200, "list jobs: Nomad's list has more than 200 pages of 1000 entries"],
])("a list that %s is no answer", async ([, nextTokenOf, requests, message]) => {
  const result = await listJobs(nextTokenOf);

  expect(result).toMatchObject({ requests, error: { message } });
  expect(codeOf("error" in result ? result.error : undefined)).toBe("VK_UNAVAILABLE");
});

test("a list of as many pages as are read is whole", async () => {
  const result = await listJobs((page) => (page < 200 ? `t${page}` : undefined));

  expect("ids" in result && (result.ids as string[]).length).toBe(200);
});
