//! Clocks, power and what holds the clocks back, by NVML.

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;

use crate::{Device, DeviceError, Library};

/// Watches one device.
#[derive(Debug)]
pub struct Monitor {
    nvml: Nvml,
    uuid: String,
}

/// What a device is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The clock of the multiprocessors, in MHz.
    pub clock_mhz: u32,
    /// The clock of the memory, in MHz.
    pub memory_clock_mhz: u32,
    /// What it draws, in watts.
    pub watts: f64,
    /// Its temperature, in degrees Celsius.
    pub celsius: u32,
    /// What holds its clocks back, by NVML's names; empty where nothing does, or where it merely idles.
    pub throttled_by: Vec<String>,
}

impl Monitor {
    /// Watches `device`.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Library::Nvml.require()?;
        let nvml = Nvml::init().map_err(|error| DeviceError::library("starting NVML", error.to_string()))?;
        let hex = &device.facts().uuid;
        // NVML's form of the same 16 bytes.
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
        let uuid = format!("GPU-{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32));
        nvml.device_by_uuid(uuid.as_str()).map_err(|error| DeviceError::library("finding the device", error))?;
        Ok(Monitor { nvml, uuid })
    }

    /// The driver's version, `580.159.04`.
    pub fn driver(&self) -> Result<String, DeviceError> {
        self.nvml.sys_driver_version().map_err(|error| DeviceError::library("reading the driver's version", error))
    }

    /// NVML's own version.
    pub fn library(&self) -> Result<String, DeviceError> {
        self.nvml.sys_nvml_version().map_err(|error| DeviceError::library("reading NVML's version", error))
    }

    /// What the device is doing now.
    pub fn read(&self) -> Result<Reading, DeviceError> {
        let read = || -> Result<Reading, nvml_wrapper::error::NvmlError> {
            let device = self.nvml.device_by_uuid(self.uuid.as_str())?;
            let idle = ThrottleReasons::GPU_IDLE | ThrottleReasons::NONE;
            let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE) - idle;
            Ok(Reading {
                clock_mhz: device.clock_info(Clock::SM)?,
                memory_clock_mhz: device.clock_info(Clock::Memory)?,
                watts: f64::from(device.power_usage()?) / 1e3,
                celsius: device.temperature(nvml_wrapper::enum_wrappers::device::TemperatureSensor::Gpu)?,
                throttled_by: reasons.iter_names().map(|(name, _)| name.to_ascii_lowercase()).collect(),
            })
        };
        read().map_err(|error| DeviceError::library("reading clocks and power", error.to_string()))
    }
}
