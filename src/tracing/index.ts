export {
  beginRequestSpan,
  beginSpan,
  inSharedSpan,
  inSpan,
  annotateSpan,
  type OpenSpan,
  type Origin,
  captureOrigin,
} from './spans';
export { TracingModule } from './tracing.module';
