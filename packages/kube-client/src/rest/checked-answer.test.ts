import { isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { checkDeleted, checkedEvent, checkedList, checkedObject } from "./checked-answer.ts";
import { isDecodeError } from "../errors/decode-error.ts";
import { resources } from "./resources.ts";

const { leases, nodes, pods } = resources;
const hint = "; is the server's address that of a Kubernetes API server?";
const web = { namespace: "default", name: "web" };
const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...web, resourceVersion: "7" } };
const podList = { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: "7" }, items: [] };
const timedOut = { apiVersion: "v1", kind: "Status", status: "Failure", code: 504, message: "upstream timeout" };

/** What the check throws. */
function thrownBy(check: () => unknown): unknown {
  try {
    check();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("a list", () => {
  const expected = { resource: pods, operation: "list pods" };

  test("is its items, its version and where the next page is", () => {
    const items = [{ metadata: { uid: "u1" } }, { apiVersion: "v1", kind: "Pod" }];

    expect(checkedList({ ...podList, items }, expected)).toEqual({ items, resourceVersion: "7", continue: undefined });
    expect(checkedList({ ...podList, metadata: { resourceVersion: "7", continue: "more" } }, expected).continue).toBe("more");
    expect(checkedList({ ...podList, metadata: { resourceVersion: "7", continue: "" } }, expected, "").continue).toBeUndefined();
  });

  test("of nothing may have null for its items, as Go writes it", () => {
    expect(checkedList({ ...podList, items: null }, expected).items).toEqual([]);
  });

  test("of a group names group and version", () => {
    const list = { apiVersion: "coordination.k8s.io/v1", kind: "LeaseList", metadata: { resourceVersion: "7" }, items: [] };
    const expectedLeases = { resource: leases, operation: "list leases" };

    expect(checkedList(list, expectedLeases).items).toEqual([]);
    expect(messageOf(thrownBy(() => checkedList({ ...list, apiVersion: "v1" }, expectedLeases)))).toContain(
      'the answer has apiVersion "v1", expected "coordination.k8s.io/v1"',
    );
  });

  test.each([
    [null, "the answer is null, expected an object"],
    ["a text with a secret", "the answer is a text, expected an object"],
    [7, "the answer is 7, expected an object"],
    [[podList], "the answer is an array, expected an object"],
    [{}, 'the answer has no kind, expected "PodList"'],
    [{ status: "ok" }, 'the answer has no kind, expected "PodList"'],
    [{ ...podList, kind: "NodeList" }, 'the answer has kind "NodeList", expected "PodList"'],
    [pod, 'the answer has kind "Pod", expected "PodList"'],
    [timedOut, 'the answer has kind "Status", expected "PodList"; it says: 504 upstream timeout'],
    [{ ...podList, kind: { secret: 1 } }, 'the answer has kind an object, expected "PodList"'],
    [{ ...podList, apiVersion: undefined }, 'the answer has no apiVersion, expected "v1"'],
    [{ ...podList, apiVersion: "v2" }, 'the answer has apiVersion "v2", expected "v1"'],
    [{ ...podList, items: undefined }, "the answer has no items, expected an array"],
    [{ ...podList, items: { a: 1 } }, "the answer has items an object, expected an array"],
    [{ ...podList, items: [pod, null] }, "the answer has items[1] null, expected an object"],
    [{ ...podList, items: [{ kind: "Node" }] }, 'the answer has items[0].kind "Node", expected "Pod"'],
    [{ ...podList, items: [{ apiVersion: "v2" }] }, 'the answer has items[0].apiVersion "v2", expected "v1"'],
    [{ ...podList, metadata: undefined }, "the answer has no metadata, expected an object"],
    [{ ...podList, metadata: {} }, "the answer has no metadata.resourceVersion, expected a version"],
    [{ ...podList, metadata: { resourceVersion: "" } }, 'the answer has metadata.resourceVersion "", expected a version'],
    [{ ...podList, metadata: { resourceVersion: 7 } }, "the answer has metadata.resourceVersion 7, expected a version"],
    [{ ...podList, metadata: { resourceVersion: "7", continue: 1 } }, "the answer has metadata.continue 1, expected a token"],
    [
      { ...podList, metadata: { resourceVersion: "7", continue: "page-2" } },
      'the answer has metadata.continue "page-2", expected another token than that of the page before',
    ],
  ])("is not taken from %j", (answer, problem) => {
    const error = thrownBy(() => checkedList(answer, expected, "page-2"));

    expect(error).toSatisfy(isUnavailable);
    expect(error).toSatisfy(isDecodeError);
    expect(messageOf(error)).toBe(`list pods: ${problem}${hint}`);
  });
});

describe("a list of one namespace", () => {
  const expected = { resource: pods, operation: "list pods default", namespace: "default" };

  test("is objects of this namespace", () => {
    expect(checkedList({ ...podList, items: [pod] }, expected).items).toEqual([pod]);
  });

  test.each([
    [{ ...pod, metadata: { ...web, namespace: "shop" } }, 'items[1].metadata.namespace "shop"'],
    [{ ...pod, metadata: { name: "web" } }, "no items[1].metadata.namespace"],
    [{}, "no items[1].metadata.namespace"],
  ])("does not hold %j", (item, problem) => {
    const error = thrownBy(() => checkedList({ ...podList, items: [pod, item] }, expected));

    expect(error).toSatisfy(isUnavailable);
    expect(error).toSatisfy(isDecodeError);
    expect(messageOf(error)).toBe(`list pods default: the answer has ${problem}, expected "default"${hint}`);
  });
});

test("a list of what is in no namespace has none, whatever was asked for", () => {
  const list = { apiVersion: "v1", kind: "NodeList", metadata: { resourceVersion: "7" }, items: [{ metadata: { name: "vk" } }] };
  const expected = { resource: nodes, operation: "list nodes", namespace: "default" };

  expect(checkedList(list, expected).items).toEqual(list.items);
});

describe("an object", () => {
  const expected = { resource: pods, operation: "get pods default/web", name: web, subresource: undefined, metadataOnly: false };

  test("is what was asked for, as it came", () => {
    expect(checkedObject(pod, expected)).toBe(pod);
    expect(checkedObject(pod, { ...expected, subresource: "status" })).toBe(pod);
    expect(checkedObject({ apiVersion: "v1", kind: "Pod" }, { ...expected, name: undefined })).toEqual({ apiVersion: "v1", kind: "Pod" });
  });

  test("may be its metadata alone where that was asked for", () => {
    const metadataOnly = { ...pod, apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };

    expect(checkedObject(metadataOnly, { ...expected, metadataOnly: true })).toBe(metadataOnly);
    expect(checkedObject(pod, { ...expected, metadataOnly: true })).toBe(pod);
    expect(thrownBy(() => checkedObject(metadataOnly, expected))).toSatisfy(isDecodeError);
    const other = { ...metadataOnly, metadata: { ...web, name: "other" } };
    expect(thrownBy(() => checkedObject(other, { ...expected, metadataOnly: true }))).toSatisfy(isDecodeError);
  });

  test("of a sub-resource has a kind of its own, and is no failure", () => {
    const token = { ...expected, operation: "create serviceaccounts/token default/web", subresource: "token" };

    expect(checkedObject({ kind: "TokenRequest" }, token)).toEqual({ kind: "TokenRequest" });
    expect(checkedObject({ kind: "Status", status: "Success" }, token)).toEqual({ kind: "Status", status: "Success" });
    expect(messageOf(thrownBy(() => checkedObject(timedOut, token)))).toBe(
      `create serviceaccounts/token default/web: the answer has kind "Status", expected the answer of token; it says: 504 upstream timeout${hint}`,
    );
    expect(thrownBy(() => checkedObject(null, token))).toSatisfy(isDecodeError);
  });

  test.each([
    [null, "the answer is null, expected an object"],
    [{}, 'the answer has no kind, expected "Pod"'],
    [timedOut, 'the answer has kind "Status", expected "Pod"; it says: 504 upstream timeout'],
    [
      { ...timedOut, code: undefined, message: undefined, reason: "Timeout" },
      'the answer has kind "Status", expected "Pod"; it says: Timeout',
    ],
    [{ ...pod, kind: "Node" }, 'the answer has kind "Node", expected "Pod"'],
    [{ ...pod, apiVersion: "v2" }, 'the answer has apiVersion "v2", expected "v1"'],
    [{ ...pod, metadata: undefined }, "the answer has no metadata, expected an object"],
    [{ ...pod, metadata: { ...web, name: "other" } }, 'the answer has metadata.name "other", expected "web"'],
    [{ ...pod, metadata: { ...web, namespace: "shop" } }, 'the answer has metadata.namespace "shop", expected "default"'],
  ])("is not taken from %j", (answer, problem) => {
    const error = thrownBy(() => checkedObject(answer, expected));

    expect(error).toSatisfy(isUnavailable);
    expect(error).toSatisfy(isDecodeError);
    expect(messageOf(error)).toBe(`get pods default/web: ${problem}${hint}`);
  });
});

describe("a deletion", () => {
  const expected = { resource: pods, operation: "delete pods default/web", name: web };

  test("is confirmed by the object, or by a status of success", () => {
    expect(() => checkDeleted(pod, expected)).not.toThrow();
    expect(() => checkDeleted({ kind: "Status", status: "Success" }, expected)).not.toThrow();
  });

  test.each([
    [null, "the answer is null, expected an object"],
    [{}, 'the answer has no kind, expected "Pod", or "Status" with status "Success"'],
    [timedOut, 'the answer has kind "Status", expected "Pod", or "Status" with status "Success"; it says: 504 upstream timeout'],
    [{ ...pod, metadata: { ...web, name: "other" } }, 'the answer has metadata.name "other", expected "web"'],
  ])("is not confirmed by %j", (answer, problem) => {
    const error = thrownBy(() => checkDeleted(answer, expected));

    expect(error).toSatisfy(isUnavailable);
    expect(messageOf(error)).toBe(`delete pods default/web: ${problem}${hint}`);
  });
});

describe("a watch's event", () => {
  const expected = { resource: pods, operation: "watch pods" };

  test.each(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])("of type %s has an object of the kind, and its version", (type) => {
    const event = { type, object: pod };

    expect(checkedEvent(event, 1, expected)).toBe(event);
  });

  test("that is an error has a status", () => {
    const event = { type: "ERROR", object: { kind: "Status", code: 410 } };

    expect(checkedEvent(event, 1, expected)).toBe(event);
  });

  test.each([
    ["a line", "a line of 6 characters is not a watch event"],
    [{ type: "ADDED" }, "a line of 6 characters is not a watch event"],
    [{ object: pod }, "a line of 6 characters is not a watch event"],
    [{ type: "ADDED", object: [pod] }, "a line of 6 characters is not a watch event"],
    [{ type: "CHANGED", object: pod }, 'a watch event has type "CHANGED", expected ADDED, MODIFIED, DELETED, BOOKMARK or ERROR'],
    [{ type: "ADDED", object: {} }, 'a watch event has no object.kind, expected "Pod"'],
    [{ type: "DELETED", object: { ...pod, kind: "Node" } }, 'a watch event has object.kind "Node", expected "Pod"'],
    [{ type: "ADDED", object: { ...pod, apiVersion: "v2" } }, 'a watch event has object.apiVersion "v2", expected "v1"'],
    [{ type: "BOOKMARK", object: { ...pod, metadata: {} } }, "a watch event has no object.metadata.resourceVersion, expected a version"],
    [{ type: "BOOKMARK", object: { ...pod, metadata: null } }, "a watch event has no object.metadata.resourceVersion, expected a version"],
    [{ type: "ERROR", object: pod }, 'a watch event has object.kind "Pod", expected "Status", as its type is ERROR'],
  ])("is not taken from %j", (event, problem) => {
    const error = thrownBy(() => checkedEvent(event, 6, expected));

    expect(error).toSatisfy(isDecodeError);
    expect(messageOf(error)).toBe(`watch pods: ${problem}`);
  });
});

describe("a watch's event of one namespace", () => {
  const expected = { resource: pods, operation: "watch pods default", namespace: "default" };
  const ofShop = { ...pod, metadata: { ...pod.metadata, namespace: "shop" } };
  const bookmark = { type: "BOOKMARK", object: { apiVersion: "v1", kind: "Pod", metadata: { resourceVersion: "8" } } };

  test.each([{ type: "ADDED", object: pod }, bookmark, { type: "ERROR", object: { kind: "Status", code: 410 } }])("is %j", (event) => {
    expect(checkedEvent(event, 6, expected)).toBe(event);
  });

  test.each(["ADDED", "MODIFIED", "DELETED"])("of type %s is not about an object of another one", (type) => {
    const error = thrownBy(() => checkedEvent({ type, object: ofShop }, 6, expected));

    expect(error).toSatisfy(isDecodeError);
    expect(messageOf(error)).toBe('watch pods default: a watch event has object.metadata.namespace "shop", expected "default"');
  });
});
