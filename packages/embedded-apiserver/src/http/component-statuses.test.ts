import { expect, test } from "vitest";
import { startApiServer } from "../start-api-server.ts";

test.each([
  [true, "True"],
  [false, "False"],
])("with controllers (%s) the scheduler's condition Healthy is %s", async (controllers, status) => {
  await using server = await startApiServer({ controllers, listen: false });
  const transport = server.transport();
  const answer = await transport.request({
    method: "GET",
    path: "/api/v1/componentstatuses",
    pool: "short",
    signal: AbortSignal.timeout(5000),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const { items } = JSON.parse(Buffer.concat(chunks).toString()) as {
    items: readonly { metadata: { name: string }; conditions: readonly object[] }[];
  };

  const scheduler = items.find(({ metadata }) => metadata.name === "scheduler");
  expect(scheduler?.conditions).toEqual([expect.objectContaining({ type: "Healthy", status })]);
});
