import { expect, test } from "vitest";
import type { JsonValue } from "../json/json-value.ts";
import { admissionReviewKind, conversionReviewKind, decodeReview } from "./decode-review.ts";
import { GoError } from "./go-error.ts";

const review = (more: object): JsonValue => ({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", ...more });

test("a review is decoded with its type; unknown fields and a response of null are left out", () => {
  expect(decodeReview(admissionReviewKind, "v1", review({ response: { uid: "a", allowed: false, other: 1 } }))).toEqual({
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    response: { uid: "a", allowed: false },
  });
  expect(decodeReview(admissionReviewKind, "v1", review({ response: null })).response).toBeUndefined();
  expect(decodeReview(admissionReviewKind, "v1", null)).toEqual({ kind: "", apiVersion: "", response: undefined });
});

test("bytes may be base64 or a list of numbers, as Go reads them", () => {
  const patch = (value: unknown): unknown =>
    decodeReview(admissionReviewKind, "v1", review({ response: { patch: value } })).response?.["patch"];
  expect(patch("W10=")).toBe("W10=");
  expect(patch([91, 93])).toBe("W10=");
});

test.each([
  [
    review({ response: { allowed: "yes" } }),
    "cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
  ],
  [review({ response: { patch: "[]" } }), "illegal base64 data at input byte 0"],
  [review({ apiVersion: "admission.k8s.io/v1beta1" }), "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"],
  [review({ kind: "Pod" }), 'no kind "Pod" is registered for version "admission.k8s.io/v1"'],
  [review({ kind: 1 }), "cannot unmarshal number into Go struct field .kind of type string"],
  [true, "json: cannot unmarshal bool into Go value of type struct {"],
])("%j is no review", (answer, problem) => {
  expect(() => decodeReview(admissionReviewKind, "v1", answer)).toThrow(GoError);
  expect(() => decodeReview(admissionReviewKind, "v1", answer)).toThrow(problem);
});

test("converted objects keep all their fields", () => {
  const convertedObjects = [{ any: { a: null } }];
  const answer = { response: { convertedObjects } };
  expect(decodeReview(conversionReviewKind, "v1", answer).response).toEqual({ convertedObjects });
});
