/** A DNS subdomain. */
export const subdomain: RegExp = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Rules of the API server: a non-empty value of a label or taint, and the name part of a key after `/`. */
const labelWord = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** Whether the text is a label's key, with or without a prefix. */
export const isLabelKey = (key: string): boolean => {
  const [name = "", prefix, ...rest] = key.split("/").toReversed();
  return labelWord.test(name) && rest.length === 0 && (prefix === undefined || (subdomain.test(prefix) && prefix.length <= 253));
};
/** Whether the text is a label's value. */
export const isLabelValue = (value: string): boolean => value === "" || labelWord.test(value);
export const labelKeyError: string =
  "expected a label's key, such as example.com/team: at most 63 letters, digits, '-', '_' and '.' after the '/'";
export const labelValueError: string =
  "expected a label's value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit";
