export { Px6CompatibleModule } from './px6-compatible.module';
