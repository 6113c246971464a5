// Where do two answers differ, and which differences are allowed?

/** All places at which two values differ. */
export function* differences(ours, theirs, path) {
  const isObject = (value) => value !== null && typeof value === 'object';
  if (isObject(ours) && isObject(theirs) && Array.isArray(ours) === Array.isArray(theirs)) {
    for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      yield* differences(ours[key], theirs[key], Array.isArray(ours) ? `${path}[${key}]` : `${path}.${key}`);
    }
  } else if (ours !== theirs) {
    yield { path, ours, theirs };
  }
}

/** The differences that no entry `{ path, when, reason }` of the list allows, in this context. */
export function forbidden(ours, theirs, path, allowed, context) {
  return [...differences(ours, theirs, path)].filter((difference) => {
    const allows = ({ path, when }) => path.test(difference.path) && (when?.(difference, context) ?? true);
    return !allowed.some(allows);
  });
}
